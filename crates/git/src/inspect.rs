use crate::refs::{self, HeadRef};
use crate::{Git, GitDir, GitError, loose_commit, without_credentials};
use process::{NeverStop, ProcessTree};
use std::fs;
use std::path::{Path, PathBuf};

/// A repository and the commit that is checked out, as predefined variables describe them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The directory of the working tree.
    pub toplevel: PathBuf,
    /// What is checked out.
    pub head: Head,
    /// The commit that is checked out; `None` in a repository without commits.
    pub commit: Option<Commit>,
    /// The address of `gcl-origin`, else of `origin`, without user name and password for http.
    pub remote_url: Option<String>,
    /// The default branch: the target of `origin/HEAD`, else a guess.
    pub default_branch: Option<String>,
}

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// A branch.
    Branch(String),
    /// A commit that a tag names.
    Tag(String),
    /// Another commit.
    Detached,
}

/// A commit, as far as predefined variables describe it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Its object name.
    pub sha: String,
    /// The object name of its first parent.
    pub parent: Option<String>,
    /// The author's name.
    pub author_name: String,
    /// The author's address.
    pub author_email: String,
    /// When it was committed, in ISO 8601.
    pub committer_date: String,
    /// The whole message.
    pub message: String,
}

impl Commit {
    /// Returns the first line of the message.
    pub fn title(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// Returns the message behind its title.
    pub fn body(&self) -> &str {
        self.message
            .split_once('\n')
            .map_or("", |(_, body)| body.trim_start_matches('\n'))
    }
}

/// Why a repository cannot be described.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryError {
    /// There is none.
    #[error("{} is not inside a git repository", directory.display())]
    None {
        /// The directory that was searched upwards.
        directory: PathBuf,
    },
    /// The commit could not be read.
    #[error("read the commit of {}", toplevel.display())]
    Commit {
        /// The working tree.
        toplevel: PathBuf,
        /// Git's error.
        #[source]
        source: GitError,
    },
}

/// Hash, parents, author, date, decorations and message, each on a line of its own but the last.
const FORMAT: &str = "--format=%H%n%P%n%an%n%ae%n%cI%n%D%n%B";

/// Describes the repository around `directory`.
///
/// It starts git at most once, for a commit that is packed, and reads the rest from files: this runs before every pipeline.
///
/// # Errors
///
/// [`RepositoryError::None`] outside a repository; [`RepositoryError::Commit`] when git cannot be
/// run or the commit cannot be read.
///
/// # Cancellation
///
/// Dropping the future ends git.
pub async fn inspect(
    directory: &Path,
    processes: &ProcessTree,
) -> Result<RepositoryFacts, RepositoryError> {
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let Some(git_dir) = GitDir::containing(&directory) else {
        return Err(RepositoryError::None { directory });
    };
    let config = fs::read_to_string(git_dir.common.join("config")).unwrap_or_default();
    let (branch, object, has_commit) = match refs::head(&git_dir) {
        Some(HeadRef::Ref(name)) => {
            let object = refs::resolve(&git_dir, &name);
            // Only git can read refs in a format other than files.
            let has_commit = object.is_some() || config.contains("refstorage");
            let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
            (branch, object, has_commit)
        }
        Some(HeadRef::Commit(_)) | None => (None, None, true),
    };
    let mut decorations = String::new();
    // The tags of a commit that is not a branch are found by git.
    let object = object.filter(|_| branch.is_some());
    let mut commit = object.and_then(|sha| loose_commit::read(&git_dir, &sha));
    if has_commit && commit.is_none() {
        let (read, decorated) = read_commit(&git_dir, processes, branch.is_none()).await?;
        commit = Some(read);
        decorations = decorated;
    }
    let head = match (branch, tag_in(&decorations)) {
        (Some(branch), _) => Head::Branch(branch),
        (None, Some(tag)) => Head::Tag(tag),
        (None, None) => Head::Detached,
    };
    Ok(RepositoryFacts {
        default_branch: default_branch(&git_dir, &head),
        remote_url: project_remote(&config).map(|url| without_credentials(&url)),
        toplevel: git_dir.toplevel,
        head,
        commit,
    })
}

/// Describes the repository around `directory` from its files, without git: of the commit only its object name.
///
/// Returns `None` where the files do not suffice: outside a repository, without a branch or a commit that is checked out,
/// and with refs in a format other than files.
pub fn glance(directory: &Path) -> Option<RepositoryFacts> {
    let git_dir = GitDir::containing(directory)?;
    let config = fs::read_to_string(git_dir.common.join("config")).unwrap_or_default();
    let Some(HeadRef::Ref(name)) = refs::head(&git_dir) else {
        return None;
    };
    let sha = refs::resolve(&git_dir, &name)?;
    let head = Head::Branch(name.strip_prefix("refs/heads/")?.to_owned());
    Some(RepositoryFacts {
        default_branch: default_branch(&git_dir, &head),
        remote_url: project_remote(&config).map(|url| without_credentials(&url)),
        toplevel: git_dir.toplevel,
        head,
        commit: Some(Commit {
            sha,
            ..Commit::default()
        }),
    })
}

async fn read_commit(
    git_dir: &GitDir,
    processes: &ProcessTree,
    decorate: bool,
) -> Result<(Commit, String), RepositoryError> {
    // Decorations make git read all refs, so they are requested only where a tag matters.
    let format = if decorate {
        FORMAT.to_owned()
    } else {
        FORMAT.replace("%D", "")
    };
    let args = [
        "log",
        "-1",
        "--no-show-signature",
        "--decorate=full",
        "--encoding=UTF-8",
        &format,
        "HEAD",
    ];
    let git = Git::local(processes, &git_dir.toplevel);
    let output = git.output(&args, &NeverStop).await;
    let output = output.map_err(|source| RepositoryError::Commit {
        toplevel: git_dir.toplevel.clone(),
        source,
    })?;
    let text = String::from_utf8_lossy(&output);
    let mut lines = text.splitn(7, '\n');
    let mut next = || lines.next().unwrap_or_default().to_owned();
    let sha = next();
    let parent = next()
        .split(' ')
        .next()
        .filter(|sha| !sha.is_empty())
        .map(str::to_owned);
    let (author_name, author_email) = (next(), next());
    let (committer_date, decorations) = (next(), next());
    let message = next().trim_end_matches('\n').to_owned();
    let commit = Commit {
        sha,
        parent,
        author_name,
        author_email,
        committer_date,
        message,
    };
    Ok((commit, decorations))
}

fn tag_in(decorations: &str) -> Option<String> {
    let mut names = decorations.split(", ");
    names
        .find_map(|name| name.strip_prefix("tag: refs/tags/"))
        .map(str::to_owned)
}

fn default_branch(git_dir: &GitDir, head: &Head) -> Option<String> {
    let from_origin = refs::symbolic(git_dir, "refs/remotes/origin/HEAD");
    let from_origin = from_origin
        .as_deref()
        .and_then(|it| it.strip_prefix("refs/remotes/origin/"));
    if let Some(branch) = from_origin {
        return Some(branch.to_owned());
    }
    let usual = ["main", "master"].into_iter();
    let mut known =
        usual.filter(|it| refs::resolve(git_dir, &format!("refs/heads/{it}")).is_some());
    match (known.next(), head) {
        (Some(branch), _) => Some(branch.to_owned()),
        (None, Head::Branch(branch)) => Some(branch.clone()),
        (None, _) => None,
    }
}

/// Returns the address of `origin` in the text of a git configuration.
pub fn origin(config: &str) -> Option<String> {
    in_section(config, "[remote \"origin\"]", "url")
}

/// Returns the address with the project's path and server. A user who works on a fork, or has a mirror as `origin`, names
/// the project itself `gcl-origin`, as for gitlab-ci-local.
pub(crate) fn project_remote(config: &str) -> Option<String> {
    in_section(config, "[remote \"gcl-origin\"]", "url").or_else(|| origin(config))
}

/// Returns the first value of `key` in the section with this heading.
pub(crate) fn in_section(config: &str, heading: &str, key: &str) -> Option<String> {
    let mut inside = false;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == heading;
        } else if inside
            && let Some((name, value)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case(key)
        {
            return Some(value.trim().trim_matches('"').to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_found_among_other_remotes() {
        let config =
            "[core]\n\turl = x\n[remote \"up\"]\n\turl = y\n[remote \"origin\"]\n\tURL = \"z\"\n";
        assert_eq!(origin(config).as_deref(), Some("z"));
        assert_eq!(origin("[remote \"up\"]\n\turl = y\n"), None);
        assert_eq!(project_remote(config).as_deref(), Some("z"));
        let config = format!("{config}[remote \"gcl-origin\"]\n\turl = v\n");
        assert_eq!(project_remote(&config).as_deref(), Some("v"));
    }

    #[test]
    fn tags_are_found_among_decorations() {
        let check = |text, expect: Option<&str>| assert_eq!(tag_in(text).as_deref(), expect);
        check("HEAD, tag: refs/tags/v1, refs/heads/main", Some("v1"));
        check("HEAD", None);
        check("", None);
    }
}
