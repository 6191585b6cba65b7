use crate::sources::{ListError, files_of};
use crate::tool::{self, ToolError};
use executor_core::Cancellation;
use process::{NeverStop, ProcessTree};
use std::fs;
use std::path::{Path, PathBuf};

/// Runs a git command that only reads, in `directory`, and returns its standard output.
///
/// Names that others chose must stand behind `--end-of-options` or `--`, or begin with `refs/`.
///
/// # Errors
///
/// [`ToolError`] when it cannot be run, fails or says more than a gibibyte.
///
/// # Cancellation
///
/// Dropping the future ends git.
pub async fn ask_git(
    directory: &Path,
    processes: &ProcessTree,
    args: &[&str],
) -> Result<Vec<u8>, ToolError> {
    tool::read(processes, directory, args, &NeverStop).await
}

/// Lists the files that a snapshot of the tree at `root` takes, sorted, relative to it: those that are not
/// ignored, also in submodules and repositories inside. Some may be gone.
///
/// # Errors
///
/// When git or a directory cannot be read.
///
/// # Cancellation
///
/// Dropping the future ends git.
pub async fn taken_files(root: &Path, processes: &ProcessTree) -> Result<Vec<PathBuf>, ListError> {
    Ok(files_of(root, processes, &Cancellation::new()).await?.files)
}

/// Lists the files of the project at `root` that are there and not ignored, sorted, relative to it.
///
/// What lies in submodules is not the project's own.
///
/// # Errors
///
/// When git or a directory cannot be read.
///
/// # Cancellation
///
/// Dropping the future ends git.
pub async fn project_files(
    root: &Path,
    processes: &ProcessTree,
) -> Result<Vec<PathBuf>, ListError> {
    let list = files_of(root, processes, &Cancellation::new()).await?;
    let mut files = list.files;
    let inner = list.repositories;
    files.retain(|file| {
        let is_own = !inner.iter().any(|inner| file.starts_with(inner));
        is_own && fs::symlink_metadata(root.join(file)).is_ok_and(|file| !file.is_dir())
    });
    Ok(files)
}
