use std::fs;
use std::path::{Path, PathBuf};

/// The directories of a repository: its working tree, the state of this worktree, and what all its worktrees share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDir {
    /// The working tree.
    pub toplevel: PathBuf,
    /// `HEAD` and the index of this worktree.
    pub own: PathBuf,
    /// Objects, refs and configuration.
    pub common: PathBuf,
}

impl GitDir {
    /// Finds the repository around `directory`, without starting git.
    pub fn containing(directory: &Path) -> Option<Self> {
        directory.ancestors().find_map(Self::at)
    }

    /// Returns the repository whose working tree begins at `toplevel`.
    pub fn at(toplevel: &Path) -> Option<Self> {
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

/// Reads the path in a file that holds only that path, behind `prefix`.
fn pointer(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    text.trim_end().strip_prefix(prefix).map(PathBuf::from)
}

/// Returns the directory with the history of the repository around `directory`, without starting git. All worktrees of a
/// repository share it.
pub fn common_dir(directory: &Path) -> Option<PathBuf> {
    let common = GitDir::containing(directory)?.common;
    Some(fs::canonicalize(&common).unwrap_or(common))
}

/// Returns the top of the working tree around `directory`, without starting git.
pub fn toplevel(directory: &Path) -> Option<PathBuf> {
    GitDir::containing(directory).map(|found| found.toplevel)
}
