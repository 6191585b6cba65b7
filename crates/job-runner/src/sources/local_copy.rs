use super::file_list::{self, FileList, ListError};
use super::own_repository::{self, Repository};
use crate::off_thread::off_thread;
use crate::repository::GitDir;
use executor_core::Cancellation;
use fail_point::fail_point;
use process::ProcessTree;
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tokio::sync::OnceCell;

/// More threads than this only wait for the same disk.
const MOST_THREADS: usize = 8;
/// Fewer files than this are copied sooner than a thread starts.
const FILES_PER_THREAD: usize = 64;

/// A working tree on this host that jobs get copies of.
///
/// Its files are listed once, when the first job asks, so all jobs of a run get the same ones. A job
/// gets the content of tracked and untracked files; ignored ones stay behind. It also gets a `.git`
/// of its own over the same history, and can neither change the tree nor its repository; so do
/// the submodules that are checked out.
#[derive(Debug)]
pub struct LocalCopy {
    root: PathBuf,
    files: OnceCell<Arc<FileList>>,
}

/// Why a working tree could not be copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// It is not there, or not any more.
    #[error("the working tree {} is gone", root.display())]
    Vanished {
        /// The working tree.
        root: PathBuf,
    },
    /// The job's directory would be the working tree or hold it.
    #[error("the build directory {} holds the working tree itself", project.display())]
    Inside {
        /// The job's directory.
        project: PathBuf,
    },
    /// Its files could not be listed.
    #[error("list the files of {}", root.display())]
    List {
        /// The working tree.
        root: PathBuf,
        /// Why.
        #[source]
        source: ListError,
    },
    /// A file could not be copied.
    #[error("copy {}", path.display())]
    File {
        /// The file, relative to the working tree.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The job's directory could not be made ready.
    #[error("make {}", path.display())]
    Target {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The job was stopped meanwhile.
    #[error("stopped")]
    Stopped,
}

/// What a copy consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) files: usize,
    /// What the job will miss in it.
    pub(crate) warnings: Vec<String>,
}

impl LocalCopy {
    /// Names the working tree. Nothing is read yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            files: OnceCell::new(),
        }
    }

    /// Returns the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Lists the files now, so that the first job need not wait for it.
    ///
    /// An error is not told here: the first job meets it again.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the listing; the first job lists anew.
    pub async fn list_ahead(&self, processes: &ProcessTree) {
        let nobody_stops = Cancellation::new();
        let list = || self.list(processes, &nobody_stops);
        if let Err(error) = self.files.get_or_try_init(list).await {
            let error = &error as &dyn Error;
            tracing::debug!(error, "Files are not listed ahead.");
        }
    }

    /// Copies the tree to `project`, which is emptied first; nothing below `builds` is copied.
    ///
    /// # Cancellation
    ///
    /// Stops the listing, or between two files, with [`CopyError::Stopped`]. Another job that
    /// waits for the same listing lists anew.
    pub(crate) async fn copy_to(
        &self,
        project: &Path,
        builds: &Path,
        processes: &ProcessTree,
        cancellation: &Cancellation,
    ) -> Result<Copied, CopyError> {
        let list = || self.list(processes, cancellation);
        let files = self.files.get_or_try_init(list).await?;
        let copy = Copy {
            root: self.root.clone(),
            project: project.to_owned(),
            builds: builds.to_owned(),
            list: Arc::clone(files),
            cancellation: cancellation.clone(),
        };
        let copied = off_thread(move || copy.run()).await;
        copied.unwrap_or_else(|source| {
            let path = project.to_owned();
            Err(CopyError::Target { path, source })
        })
    }

    async fn list(
        &self,
        processes: &ProcessTree,
        cancellation: &Cancellation,
    ) -> Result<Arc<FileList>, CopyError> {
        let listed = file_list::files_of(&self.root, processes, cancellation).await;
        let root = || self.root.clone();
        listed.map(Arc::new).map_err(|source| match source {
            ListError::Stopped => CopyError::Stopped,
            _ if !self.root.is_dir() => CopyError::Vanished { root: root() },
            source => CopyError::List {
                root: root(),
                source,
            },
        })
    }
}

/// One copy under way, off the async threads.
struct Copy {
    root: PathBuf,
    project: PathBuf,
    builds: PathBuf,
    list: Arc<FileList>,
    cancellation: Cancellation,
}

impl Copy {
    fn run(&self) -> Result<Copied, CopyError> {
        let target = |source| CopyError::Target {
            path: self.project.clone(),
            source,
        };
        let Ok(root) = fs::canonicalize(&self.root) else {
            return Err(self.vanished());
        };
        fs::create_dir_all(&self.project).map_err(target)?;
        let project = fs::canonicalize(&self.project).map_err(target)?;
        if root.starts_with(&project) {
            return Err(CopyError::Inside { project });
        }
        // What a runner that died left there belongs to nobody.
        let emptied = fail_point!(
            "job_runner::local_copy::empty",
            process::remove_tree(&project)
        );
        emptied.map_err(target)?;
        fs::create_dir_all(&project).map_err(target)?;
        // Builds may live below the tree; a copy of copies would grow without end.
        let builds = fs::canonicalize(&self.builds).ok();
        let builds = builds
            .as_deref()
            .and_then(|builds| builds.strip_prefix(&root).ok());
        let is_build = |file: &Path| {
            let builds = builds.filter(|builds| !builds.as_os_str().is_empty());
            builds.is_some_and(|builds| file.starts_with(builds))
        };
        let files = self.list.files.iter().map(PathBuf::as_path);
        let mut wanted: Vec<&Path> = files.filter(|file| !is_build(file)).collect();
        let inner = self.list.repositories.iter().map(PathBuf::as_path);
        let inner: Vec<&Path> = inner.filter(|path| !is_build(path)).collect();
        let directories = self.make_directories(&wanted, &inner)?;
        // A directory that became a link took its tracked files away, whatever it leads to.
        wanted.retain(|file| {
            file.parent()
                .is_none_or(|parent| directories.contains(parent))
        });
        let copied = self.copy_all(&wanted)?;
        if !root.is_dir() {
            return Err(self.vanished());
        }
        let inner = inner.into_iter().filter(|path| directories.contains(path));
        let mut warnings = Vec::new();
        for path in [Path::new("")].into_iter().chain(inner) {
            warnings.extend(self.make_repository(path)?);
        }
        Ok(Copied {
            files: copied,
            warnings,
        })
    }

    /// Gives the copy of a repository a `.git`, and returns what is to be said about it.
    fn make_repository(&self, path: &Path) -> Result<Option<String>, CopyError> {
        let from = self.root.join(path);
        let to = self.project.join(path);
        let Some(git_dir) = GitDir::at(&from) else {
            return Ok(None);
        };
        let made = fail_point!(
            "job_runner::local_copy::make_repository",
            own_repository::create(&git_dir, &to)
        );
        match made {
            Ok(Repository::Made | Repository::WithoutCommits) => Ok(None),
            Ok(Repository::UnknownRefs) => Ok(Some(format!(
                "the copy of {} is no git repository: its refs are in a format other than files",
                from.display()
            ))),
            Err(source) => Err(CopyError::Target {
                path: to.join(".git"),
                source,
            }),
        }
    }

    /// Makes the directories of `files`, and `others`, as far as the tree has them, and returns
    /// those.
    fn make_directories<'f>(
        &self,
        files: &[&'f Path],
        others: &[&'f Path],
    ) -> Result<BTreeSet<&'f Path>, CopyError> {
        let mut wanted: BTreeSet<&Path> = BTreeSet::new();
        let parents = files.iter().filter_map(|file| file.parent());
        for directory in parents.chain(others.iter().copied()) {
            // The parents of a known directory are known too.
            let directories = directory.ancestors();
            directories
                .take_while(|directory| wanted.insert(directory))
                .for_each(drop);
        }
        let mut made: BTreeSet<&Path> = BTreeSet::new();
        for directory in wanted {
            let from = self.root.join(directory);
            let there = directory.parent().is_none_or(|parent| {
                let is_directory = fs::symlink_metadata(from).is_ok_and(|it| it.is_dir());
                made.contains(parent) && is_directory
            });
            if there {
                let path = self.project.join(directory);
                fs::create_dir_all(&path).map_err(|source| CopyError::Target { path, source })?;
                made.insert(directory);
            }
        }
        Ok(made)
    }

    /// Copies the files on as many threads as help, and returns how many were there.
    fn copy_all(&self, files: &[&Path]) -> Result<usize, CopyError> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = (files.len() / FILES_PER_THREAD).clamp(1, processors.min(MOST_THREADS));
        let next = AtomicUsize::new(0);
        let work = || {
            let mut copied = 0;
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.cancellation.is_canceled() {
                    return Err(CopyError::Stopped);
                }
                copied += usize::from(self.copy_one(file)?);
            }
            Ok(copied)
        };
        if threads == 1 {
            return work();
        }
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let mut copied = 0;
            for worker in workers {
                copied += worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(copied)
        })
    }

    /// Copies one file, and returns whether it was there: git also lists deleted ones.
    fn copy_one(&self, file: &Path) -> Result<bool, CopyError> {
        let from = self.root.join(file);
        let to = self.project.join(file);
        let copied = fs::symlink_metadata(&from).and_then(|metadata| {
            if metadata.is_symlink() {
                std::os::unix::fs::symlink(fs::read_link(&from)?, &to).map(|()| true)
            } else if metadata.is_file() {
                fail_point!("job_runner::local_copy::copy", fs::copy(&from, &to)).map(|_| true)
            } else {
                // A socket or a pipe has no content to copy.
                Ok(false)
            }
        });
        match copied {
            Err(error) if is_missing(&error) && !is_missing_parent(&to) => Ok(false),
            Err(_) if !self.root.is_dir() => Err(self.vanished()),
            other => other.map_err(|source| CopyError::File {
                path: file.to_owned(),
                source,
            }),
        }
    }

    fn vanished(&self) -> CopyError {
        CopyError::Vanished {
            root: self.root.clone(),
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    // A directory that became a file meanwhile answers with the second.
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn is_missing_parent(path: &Path) -> bool {
    path.parent().is_none_or(|parent| !parent.is_dir())
}
