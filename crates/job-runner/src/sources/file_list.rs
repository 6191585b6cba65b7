use crate::panics::off_thread;
use executor_core::Cancellation;
use git::{Git, GitDir, GitError, paths_in};
use process::ProcessTree;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories of version control, which jobs do not get.
const STATE_DIRS: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".bzr"];

/// The error of listing the files of a tree.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// Git could not list the files.
    #[error("list the files with git")]
    Git(#[from] GitError),
    /// A directory could not be read.
    #[error("read directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The job was stopped.
    #[error("stopped")]
    Stopped,
}

/// The files of a tree that a job gets, as paths relative to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileList {
    /// Sorted, without duplicates.
    pub(crate) files: Vec<PathBuf>,
    /// Nested repositories: submodules, which are empty when not checked out, and others.
    pub(crate) repositories: Vec<PathBuf>,
}

/// Lists the files of the tree at `root` that a job gets.
///
/// In a Git repository these are tracked and untracked files, but not ignored ones; the same holds in
/// submodules and nested repositories. Outside of a repository it is every file.
///
/// # Cancellation
///
/// Stops soon with [`ListError::Stopped`].
pub(crate) async fn files_of(
    root: &Path,
    processes: &ProcessTree,
    cancellation: &Cancellation,
) -> Result<FileList, ListError> {
    let tree = Tree {
        root: root.to_owned(),
        cancellation: cancellation.clone(),
    };
    if let Some(files) = tree.off_thread(Tree::files_without_git).await? {
        return Ok(FileList {
            files,
            ..FileList::default()
        });
    }
    let mut list = FileList::default();
    let mut pending = vec![PathBuf::new()];
    while let Some(repository) = pending.pop() {
        let args = [
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ];
        let directory = root.join(&repository);
        let git = Git::local(processes, &directory);
        let listed = git.output(&args, cancellation).await;
        let listed = listed.map_err(|error| match error {
            GitError::Stopped => ListError::Stopped,
            error => ListError::Git(error),
        })?;
        let listing = move |tree: &Tree| tree.classify(&repository, &listed);
        let Listing {
            files: more,
            repositories,
            empty,
        } = tree.off_thread(listing).await?;
        list.files.extend(more);
        list.repositories.extend(empty);
        list.repositories.extend(repositories.iter().cloned());
        pending.extend(repositories);
    }
    tree.off_thread(|_| {
        list.files.sort();
        // During an unresolved merge, git lists a file once for each side.
        list.files.dedup();
        Ok(list)
    })
    .await
}

/// Lists the files that a snapshot of the tree at `root` takes, sorted and relative to it: those that are not
/// ignored, also in submodules and nested repositories. Some may no longer exist.
///
/// # Errors
///
/// When git fails or a directory cannot be read.
///
/// # Cancellation
///
/// Dropping the future ends git.
pub async fn taken_files(root: &Path, processes: &ProcessTree) -> Result<Vec<PathBuf>, ListError> {
    Ok(files_of(root, processes, &Cancellation::new()).await?.files)
}

/// Lists the existing files of the project at `root` that are not ignored, sorted and relative to it.
///
/// Files of submodules do not count.
///
/// # Errors
///
/// When git fails or a directory cannot be read.
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
    let nested = list.repositories;
    files.retain(|file| {
        let is_own = !nested.iter().any(|repository| file.starts_with(repository));
        is_own && fs::symlink_metadata(root.join(file)).is_ok_and(|file| !file.is_dir())
    });
    Ok(files)
}

/// The tree whose files are listed.
#[derive(Debug, Clone)]
struct Tree {
    root: PathBuf,
    cancellation: Cancellation,
}

/// The entries that git lists in one repository.
#[derive(Debug, Default)]
struct Listing {
    files: Vec<PathBuf>,
    /// Submodules and untracked repositories, whose files git does not list.
    repositories: Vec<PathBuf>,
    /// Submodules that are not checked out.
    empty: Vec<PathBuf>,
}

impl Tree {
    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ListError> + Send + 'static,
    ) -> Result<T, ListError> {
        let tree = self.clone();
        let done = off_thread(move || work(&tree)).await;
        done.unwrap_or_else(|source| {
            let path = self.root.clone();
            Err(ListError::Directory { path, source })
        })
    }

    /// Returns every file; `None` in a Git repository.
    fn files_without_git(&self) -> Result<Option<Vec<PathBuf>>, ListError> {
        if GitDir::containing(&self.root).is_some() {
            return Ok(None);
        }
        let mut files = Vec::new();
        self.walk(Path::new(""), &mut files)?;
        files.sort();
        Ok(Some(files))
    }

    fn classify(&self, repository: &Path, listed: &[u8]) -> Result<Listing, ListError> {
        let mut listing = Listing::default();
        for name in paths_in(listed) {
            self.check_stop()?;
            let path = repository.join(name);
            match fs::symlink_metadata(self.root.join(&path)) {
                Ok(metadata) if metadata.is_dir() => {
                    if GitDir::at(&self.root.join(&path)).is_some() {
                        listing.repositories.push(path);
                    } else {
                        listing.empty.push(path);
                    }
                }
                _ => listing.files.push(path),
            }
        }
        Ok(listing)
    }

    fn walk(&self, below: &Path, files: &mut Vec<PathBuf>) -> Result<(), ListError> {
        let path = self.root.join(below);
        let error = |source| ListError::Directory {
            path: path.clone(),
            source,
        };
        for entry in fs::read_dir(&path).map_err(error)? {
            self.check_stop()?;
            let entry = entry.map_err(error)?;
            let name = below.join(entry.file_name());
            if !entry.file_type().map_err(error)?.is_dir() {
                files.push(name);
            } else if !STATE_DIRS.iter().any(|state| entry.file_name() == *state) {
                self.walk(&name, files)?;
            }
        }
        Ok(())
    }

    fn check_stop(&self) -> Result<(), ListError> {
        if self.cancellation.is_canceled() {
            return Err(ListError::Stopped);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::CancelCause;
    use process::{Settings, Supervisor};

    #[tokio::test]
    async fn stop_ends_the_listing_with_and_without_git() {
        let with_git = Path::new(env!("CARGO_MANIFEST_DIR"));
        let without = tempfile::tempdir().expect("a directory");
        fs::write(without.path().join("file"), "").expect("written");
        let supervisor = Supervisor::start(Settings::default()).expect("processes can be started");
        let stopped = Cancellation::new();
        stopped.cancel(CancelCause::User);
        for root in [with_git, without.path()] {
            let tree = supervisor.tree();
            let listed = files_of(root, &tree, &stopped).await;
            assert!(matches!(listed, Err(ListError::Stopped)), "{listed:?}");
        }
        let listed = files_of(without.path(), &supervisor.tree(), &Cancellation::new()).await;
        assert_eq!(listed.expect("listed").files, [PathBuf::from("file")]);
    }
}
