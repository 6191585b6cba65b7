use super::blocking_git::{BlockingGit, BlockingGitError};
use pipeline::repository::Paths;
use std::collections::BTreeSet;

/// What the working tree is compared with to find the changed files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ChangeBase {
    /// Nothing is known.
    #[default]
    Unknown,
    /// Nothing: the user named the files.
    Named(Paths),
    /// The commit the branch had on the server.
    Before(String),
    /// The commit where a merge request's branch left its target.
    MergeBase(String),
}

impl ChangeBase {
    /// Returns the changed paths; `None` when they are unknown.
    pub(super) fn changed_files(
        &self,
        git: &BlockingGit,
    ) -> Result<Option<Paths>, BlockingGitError> {
        match self {
            Self::Unknown => Ok(None),
            Self::Named(paths) => Ok(Some(paths.clone())),
            Self::Before(commit) => {
                let changed = changed_since(git, commit)?;
                // A push without changes starts no pipeline, so this pipeline is not for a push.
                Ok(Some(changed).filter(|changed| !changed.is_empty()))
            }
            Self::MergeBase(commit) => changed_since(git, commit).map(Some),
        }
    }
}

/// Returns the paths that differ between the working tree and `commit`, a full object name.
pub(super) fn changed_since(git: &BlockingGit, commit: &str) -> Result<Paths, BlockingGitError> {
    let differing = git.read(&diff(&["--name-only"], &[commit]))?;
    let new = git.read(&NEW_FILES)?;
    // The files of programs that run pipelines locally are not pushed.
    let is_pushed =
        |path: &String| !is_of_local_tool(path) && !path.starts_with(".gitlab-ci-local");
    let changed = names(&differing).chain(names(&new).filter(is_pushed));
    let changed: BTreeSet<String> = changed.collect();
    Ok(changed.into_iter().collect())
}

/// Returns the words of a diff in a form that ends names with NUL. It enters no submodule: git there would start the
/// filters of the submodule's configuration.
pub(crate) fn diff<'s>(form: &[&'s str], sides: &[&'s str]) -> Vec<&'s str> {
    let options = [
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--no-relative",
        "--ignore-submodules=dirty",
    ];
    [&["diff"], form, &options, sides, &["--"]].concat()
}

/// Lists the files that are neither tracked nor ignored.
pub(crate) const NEW_FILES: [&str; 4] = ["ls-files", "-z", "--others", "--exclude-standard"];

/// The directories in which programs that run pipelines locally keep their state.
const TOOL_DIRECTORIES: [&str; 4] = [".bitrab", ".gitlab-ci-local", ".glci", ".runwright"];

/// The texts of included files, which are committed.
const VENDORED: &str = ".runwright/vendor/";

/// Returns whether a new file is in the state of a program that runs pipelines locally.
pub(crate) fn is_of_local_tool(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    TOOL_DIRECTORIES.contains(&first) && !path.starts_with(VENDORED)
}

/// Returns the paths in a listing whose entries end with NUL.
pub(super) fn names(listing: &[u8]) -> impl Iterator<Item = String> {
    let names = listing.split(|byte| *byte == 0);
    names
        .filter(|name| !name.is_empty())
        // A repository inside the tree is listed with a slash at the end.
        .map(|name| {
            String::from_utf8_lossy(name)
                .trim_end_matches('/')
                .to_owned()
        })
}
