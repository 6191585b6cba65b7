use crate::off_thread::off_thread;
use executor_core::Cancellation;
use git::{Git, GitDir, GitError, paths_in};
use process::ProcessTree;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// State of version control that no job needs.
const STATE_DIRS: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".bzr"];

/// Why the files of a tree cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// Git did not list them.
    #[error("list the files with git")]
    Git(#[from] GitError),
    /// A directory could not be read.
    #[error("read directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The job was stopped meanwhile.
    #[error("stopped")]
    Stopped,
}

/// What a job gets of a tree, as paths relative to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileList {
    /// Sorted, each once.
    pub(crate) files: Vec<PathBuf>,
    /// Directories inside the tree that are repositories of their own: its submodules, which are
    /// empty where they are not checked out, and others.
    pub(crate) repositories: Vec<PathBuf>,
}

/// Lists what a job gets of the tree at `root`.
///
/// In a Git repository that is what is tracked or could be: ignored files stay behind. Submodules
/// and repositories inside the tree are listed in the same way. Elsewhere it is every file.
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
    if let Some(files) = tree.look(Tree::files_without_git).await? {
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
        let listing = move |tree: &Tree| tree.sort_out(&repository, &listed);
        let Listing {
            files: more,
            repositories,
            empty,
        } = tree.look(listing).await?;
        list.files.extend(more);
        list.repositories.extend(empty);
        list.repositories.extend(repositories.iter().cloned());
        pending.extend(repositories);
    }
    tree.look(|_| {
        list.files.sort();
        // While a merge is unresolved, git names a file once for each side.
        list.files.dedup();
        Ok(list)
    })
    .await
}

/// Lists the files that a snapshot of the tree at `root` takes, sorted, relative to it: those that are not
/// ignored, also in submodules and repositories inside. Some may be gone.
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

/// Lists the files of the project at `root` that are there and not ignored, sorted, relative to it.
///
/// Files of submodules are not the project's own.
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
    let inner = list.repositories;
    files.retain(|file| {
        let is_own = !inner.iter().any(|inner| file.starts_with(inner));
        is_own && fs::symlink_metadata(root.join(file)).is_ok_and(|file| !file.is_dir())
    });
    Ok(files)
}

/// The tree whose files are listed, as it is looked at off the async threads.
#[derive(Debug, Clone)]
struct Tree {
    root: PathBuf,
    cancellation: Cancellation,
}

/// What git names in one repository.
#[derive(Debug, Default)]
struct Listing {
    files: Vec<PathBuf>,
    /// Submodules and repositories git does not know: it names them, but not what is inside.
    repositories: Vec<PathBuf>,
    /// Submodules that are not checked out.
    empty: Vec<PathBuf>,
}

impl Tree {
    async fn look<T: Send + 'static>(
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

    /// Returns every file; `None` where git is to say which ones matter.
    fn files_without_git(&self) -> Result<Option<Vec<PathBuf>>, ListError> {
        if GitDir::containing(&self.root).is_some() {
            return Ok(None);
        }
        let mut files = Vec::new();
        self.walk(Path::new(""), &mut files)?;
        files.sort();
        Ok(Some(files))
    }

    fn sort_out(&self, repository: &Path, listed: &[u8]) -> Result<Listing, ListError> {
        let mut listing = Listing::default();
        for name in paths_in(listed) {
            self.refuse_if_stopped()?;
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
            self.refuse_if_stopped()?;
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

    fn refuse_if_stopped(&self) -> Result<(), ListError> {
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
    async fn a_stop_ends_the_listing_with_git_and_without() {
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
