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

/// A question to a library.
///
/// Answers to [`Question::File`] and [`Question::Tree`] at a commit's id never change; all others may at any time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// The commit of a branch or tag, by default of the default branch. The answer is its id.
    Commit {
        /// The project.
        project: ProjectAddress,
        /// The branch or tag.
        reference: Option<String>,
    },
    /// The tags. The answer has a line `<id of the commit> <name>` for each.
    Tags {
        /// The project.
        project: ProjectAddress,
    },
    /// A file. The answer is its text.
    File {
        /// The project.
        project: ProjectAddress,
        /// The commit.
        sha: String,
        /// The file's path, without a leading slash.
        path: String,
    },
    /// The files of a commit. The answer has a line for each path.
    Tree {
        /// The project.
        project: ProjectAddress,
        /// The commit.
        sha: String,
    },
    /// A file at any address. The answer is its text.
    Page {
        /// The address.
        url: Url,
        /// The greatest age of an answer in seconds, if the including file sets one.
        age: Option<u64>,
    },
    /// A template of GitLab. The answer is its text.
    Template {
        /// The template's name, as in `include:template`.
        name: String,
        /// Its address, by the user's settings.
        url: Url,
    },
}

impl Question {
    /// Returns whether the answer never changes.
    ///
    /// That needs a full commit id: what looks like the start of one may be a branch.
    pub fn is_settled(&self) -> bool {
        match self {
            Self::File { sha, .. } | Self::Tree { sha, .. } => is_commit(sha),
            Self::Commit { .. } | Self::Tags { .. } | Self::Page { .. } | Self::Template { .. } => {
                false
            }
        }
    }
}

/// Returns whether a text is a full commit id, as Git writes it.
pub(crate) fn is_commit(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    matches!(text.len(), 40 | 64) && text.bytes().all(is_digit)
}
