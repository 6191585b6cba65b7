use crate::repository::GitDir;
use crate::tool::{self, ToolError};
use process::ProcessTree;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// State of version control that no job needs.
const STATE_DIRS: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".bzr"];

/// Why the files of a tree cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// Git could not be asked.
    #[error("ask git for the files")]
    Git(#[from] ToolError),
    /// A directory could not be read.
    #[error("read directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Lists what a job gets of the tree at `root`, as paths relative to it, sorted.
///
/// In a Git repository that is what is tracked or could be: ignored files stay behind. Submodules
/// and repositories inside the tree are listed in the same way. Elsewhere it is every file.
pub(crate) async fn files_of(
    root: &Path,
    processes: &ProcessTree,
) -> Result<Vec<PathBuf>, ListError> {
    let mut files = Vec::new();
    if GitDir::containing(root).is_none() {
        walk(root, Path::new(""), &mut files)?;
        files.sort();
        return Ok(files);
    }
    let mut pending = vec![PathBuf::new()];
    while let Some(repository) = pending.pop() {
        let args = [
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ];
        let listed = tool::read(processes, &root.join(&repository), &args).await?;
        for name in tool::paths_in(&listed) {
            let path = repository.join(name);
            // Git names a submodule, and a repository it does not know, but not what is inside.
            match fs::symlink_metadata(root.join(&path)) {
                Ok(metadata) if metadata.is_dir() => {
                    if GitDir::at(&root.join(&path)).is_some() {
                        pending.push(path);
                    }
                }
                _ => files.push(path),
            }
        }
    }
    // While a merge is unresolved, git names a file once for each side.
    files.sort();
    files.dedup();
    Ok(files)
}

fn walk(root: &Path, below: &Path, files: &mut Vec<PathBuf>) -> Result<(), ListError> {
    let path = root.join(below);
    let error = |source| ListError::Directory {
        path: path.clone(),
        source,
    };
    for entry in fs::read_dir(&path).map_err(error)? {
        let entry = entry.map_err(error)?;
        let name = below.join(entry.file_name());
        if !entry.file_type().map_err(error)?.is_dir() {
            files.push(name);
        } else if !STATE_DIRS.iter().any(|state| entry.file_name() == *state) {
            walk(root, &name, files)?;
        }
    }
    Ok(())
}
