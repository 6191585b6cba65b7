use std::fs;
use std::path::{Path, PathBuf};

/// The directories of a repository: where its own state and what its worktrees share live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitDir {
    /// The working tree.
    pub(crate) toplevel: PathBuf,
    /// `HEAD` and the index of this worktree.
    pub(crate) own: PathBuf,
    /// Objects, refs and configuration.
    pub(crate) common: PathBuf,
}

impl GitDir {
    /// Finds the repository that `directory` lies in, without starting git.
    pub(crate) fn containing(directory: &Path) -> Option<Self> {
        directory.ancestors().find_map(Self::at)
    }

    /// Returns the repository whose working tree begins at `toplevel`.
    pub(crate) fn at(toplevel: &Path) -> Option<Self> {
        let dot_git = toplevel.join(".git");
        let own = match fs::metadata(&dot_git) {
            Ok(metadata) if metadata.is_dir() => dot_git,
            Ok(metadata) if metadata.is_file() => toplevel.join(pointer(&dot_git, "gitdir: ")?),
            _ => return None,
        };
        if !own.join("HEAD").exists() {
            return None;
        }
        let common = match pointer(&own.join("commondir"), "") {
            Some(common) => own.join(common),
            None => own.clone(),
        };
        Some(Self {
            toplevel: toplevel.to_owned(),
            own,
            common,
        })
    }
}

/// Reads the path in a file that holds nothing else but `prefix` before it.
fn pointer(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    text.trim_end().strip_prefix(prefix).map(PathBuf::from)
}

/// Returns where the history of the repository is that `directory` lies in, without starting git: all
/// worktrees of a repository have the same.
pub fn common_dir(directory: &Path) -> Option<PathBuf> {
    let common = GitDir::containing(directory)?.common;
    Some(fs::canonicalize(&common).unwrap_or(common))
}

/// Returns the top of the working tree that `directory` lies in, without starting git.
pub fn toplevel(directory: &Path) -> Option<PathBuf> {
    GitDir::containing(directory).map(|found| found.toplevel)
}
