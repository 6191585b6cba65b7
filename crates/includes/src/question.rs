use gitlab_api::Instance;
use web::Url;

/// A project on a GitLab.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProjectAddress {
    /// The GitLab.
    pub instance: Instance,
    /// The project's path, `group/project`.
    pub path: String,
}

/// What can be asked of a library.
///
/// Answers to [`Question::File`] and [`Question::Tree`] at a commit's id never change; all others may at any time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// Which commit a branch or tag is at; without one, the default branch. The answer is its id.
    Commit {
        /// Of which project.
        project: ProjectAddress,
        /// The branch or tag.
        reference: Option<String>,
    },
    /// Which tags there are. The answer has a line `<id of the commit> <name>` for each.
    Tags {
        /// Of which project.
        project: ProjectAddress,
    },
    /// What is in a file. The answer is its text.
    File {
        /// Of which project.
        project: ProjectAddress,
        /// At which commit.
        sha: String,
        /// Its path, without a leading slash.
        path: String,
    },
    /// Which files there are. The answer has a line for each path.
    Tree {
        /// Of which project.
        project: ProjectAddress,
        /// At which commit.
        sha: String,
    },
    /// What is at an address. The answer is its text.
    Page {
        /// The address.
        url: Url,
        /// How long an answer may be old, in seconds, if the file that asks says so.
        age: Option<u64>,
    },
    /// What is in a template of GitLab. The answer is its text.
    Template {
        /// Its name, as files write it.
        name: String,
        /// Where the user's settings have it.
        url: Url,
    },
}

impl Question {
    /// Returns whether the answer is the same for ever.
    ///
    /// It is at a whole commit's id alone: what looks like a part of one may be a branch.
    pub fn is_settled(&self) -> bool {
        match self {
            Self::File { sha, .. } | Self::Tree { sha, .. } => is_commit(sha),
            Self::Commit { .. } | Self::Tags { .. } | Self::Page { .. } | Self::Template { .. } => {
                false
            }
        }
    }
}

/// Returns whether a text is the whole id of a commit, as Git writes it.
pub(crate) fn is_commit(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    matches!(text.len(), 40 | 64) && text.bytes().all(is_digit)
}
