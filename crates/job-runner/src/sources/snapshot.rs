use super::base::{Base, Layer};
use super::contents::TreeContents;
use super::destination::{Destination, Lifetime};
use super::error::SnapshotError;
use super::file_list::{self, FileList, ListError};
use super::inputs::Inputs;
use super::known_contents::KnownContents;
use super::method::{BlockSharing, ChosenMethod, Size, SnapshotMethod};
use super::tree_copy::{CopiedTree, TreeCopy};
use crate::panics::off_thread;
use content_store::ContentStore;
use executor_core::Cancellation;
use process::{Overlays, ProcessError, ProcessTree, Supervisor};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::OnceCell;

/// The state of a working tree on this host with which all jobs of a run start.
///
/// It is taken once, for the first job, whatever happens to the tree later: tracked and untracked files, but
/// not ignored ones. A job also gets a `.git` of its own with the same history, as do checked-out
/// submodules. It can change neither the tree nor its repository nor the files of other jobs.
/// See `docs/design/sources.md`.
#[derive(Debug)]
pub struct Snapshot {
    root: PathBuf,
    directory: PathBuf,
    method: SnapshotMethod,
    users: SnapshotUsers,
    files: OnceCell<Arc<FileList>>,
    overlays: OnceCell<Result<Overlays, Arc<ProcessError>>>,
    base: OnceCell<Arc<Base>>,
    contents: OnceCell<Arc<TreeContents>>,
    /// Whether a job may have files that differ from `contents`.
    may_differ: AtomicBool,
}

/// The number of jobs that take files from a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SnapshotUsers {
    /// Any number of jobs and of attempts.
    #[default]
    Many,
    /// One attempt of one job, which may get the snapshot itself. Each further attempt gets the tree's state at its start.
    One,
}

/// The copy of a snapshot in a job's directory.
#[derive(Debug)]
pub(crate) struct SnapshotCopy {
    pub(crate) files: usize,
    /// Warnings for the job's log.
    pub(crate) warnings: Vec<String>,
    /// The mounted overlay, if any.
    pub(crate) layer: Option<Layer>,
}

impl Snapshot {
    /// Returns a snapshot of the tree at `root` that will be taken later and kept below `directory`.
    ///
    /// Blocks can be shared when builds, `directory` and the tree are on one file system.
    pub fn new(root: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            directory: directory.into(),
            method: SnapshotMethod::default(),
            users: SnapshotUsers::default(),
            files: OnceCell::new(),
            overlays: OnceCell::new(),
            base: OnceCell::new(),
            contents: OnceCell::new(),
            may_differ: AtomicBool::new(false),
        }
    }

    /// Chooses how jobs get their directories.
    #[must_use]
    pub fn with_method(self, method: SnapshotMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets the number of jobs that will use it.
    #[must_use]
    pub fn with_users(self, users: SnapshotUsers) -> Self {
        Self { users, ..self }
    }

    /// Returns the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Lists the files before the first job needs them. After an error, the first job lists them again.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the listing.
    pub async fn list_ahead(&self, processes: &ProcessTree) {
        let not_cancelled = Cancellation::new();
        let list = || self.list(processes, &not_cancelled);
        if let Err(error) = self.files.get_or_try_init(list).await {
            let error = &error as &dyn Error;
            tracing::debug!(error, "Files could not be listed ahead.");
        }
    }

    /// Returns the contents of the files that jobs will get.
    ///
    /// They are read once; see [`matches_contents`](Self::matches_contents). `store` writes
    /// the digests to the file `known`, so that files with unchanged metadata are not read again.
    ///
    /// # Errors
    ///
    /// When files cannot be listed or read.
    ///
    /// # Cancellation
    ///
    /// Stops the listing with [`SnapshotError::Stopped`].
    pub async fn contents(
        &self,
        store: &ContentStore,
        known: &Path,
        processes: &ProcessTree,
        cancellation: &Cancellation,
    ) -> Result<Arc<TreeContents>, SnapshotError> {
        let read = || async {
            let list = || self.list(processes, cancellation);
            let list = Arc::clone(self.files.get_or_try_init(list).await?);
            let root = self.root.clone();
            let (store, known) = (store.clone(), known.to_owned());
            let read = off_thread(move || read_contents(&root, &list, &store, &known)).await;
            read.flatten()
                .map(Arc::new)
                .map_err(|source| SnapshotError::List {
                    root: self.root.clone(),
                    source: ListError::Directory {
                        path: self.root.clone(),
                        source,
                    },
                })
        };
        self.contents.get_or_try_init(read).await.map(Arc::clone)
    }

    /// Returns whether the files of all jobs match [`contents`](Self::contents): the tree did not change before
    /// it was copied.
    pub fn matches_contents(&self) -> bool {
        !self.may_differ.load(Ordering::Acquire)
    }

    /// Checks before the first job that this host supports the chosen method.
    ///
    /// # Errors
    ///
    /// When overlays were chosen and cannot be mounted.
    pub async fn check(&self, supervisor: &Supervisor) -> Result<(), SnapshotError> {
        match self.method {
            SnapshotMethod::Overlay => self.probe(supervisor).await.map(drop),
            SnapshotMethod::Auto | SnapshotMethod::Reflink | SnapshotMethod::Copy => Ok(()),
        }
    }

    /// Removes the files kept for jobs, at the end of the run.
    pub async fn discard(&self) {
        if let Some(base) = self.base.get() {
            base.discard().await;
        }
    }

    /// Fills a job's directory, with those of its inputs that an overlay can include; the layer has their list.
    ///
    /// # Cancellation
    ///
    /// Stops during the listing or between two files with [`SnapshotError::Stopped`]. Another job that
    /// waits for the snapshot takes it again.
    pub(crate) async fn fill(
        &self,
        destination: &Destination<'_>,
        inputs: &Inputs,
    ) -> Result<SnapshotCopy, SnapshotError> {
        let may_copy = matches!(self.method, SnapshotMethod::Auto | SnapshotMethod::Copy);
        if self.users == SnapshotUsers::One && may_copy {
            let copied = self
                .take(destination, destination.project.to_owned())
                .await?;
            return Ok(SnapshotCopy {
                files: copied.size.files,
                warnings: copied.warnings,
                layer: None,
            });
        }
        self.check_method(destination).await?;
        let base = self
            .base
            .get_or_try_init(|| self.make_base(destination))
            .await?;
        let size = base.size().and(inputs.size());
        let layer = match self.choose(size, destination).await? {
            ChosenMethod::Overlay(overlays) => {
                match Base::mount(base, overlays, destination, inputs).await {
                    Err(SnapshotError::Overlay(error)) if self.method == SnapshotMethod::Auto => {
                        log_missing_overlays(&error);
                        Base::copy(base, BlockSharing::Preferred, destination).await?;
                        None
                    }
                    mounted => Some(mounted?),
                }
            }
            ChosenMethod::Copy(sharing) => {
                Base::copy(base, sharing, destination).await?;
                None
            }
        };
        Ok(SnapshotCopy {
            files: base.size().files,
            warnings: base.warnings().to_vec(),
            layer,
        })
    }

    /// Refuses a method that cannot work for this job, before anything is copied.
    async fn check_method(&self, destination: &Destination<'_>) -> Result<(), SnapshotError> {
        match (self.method, destination.lifetime) {
            (SnapshotMethod::Overlay, Lifetime::Kept) => Err(SnapshotError::Kept),
            (SnapshotMethod::Overlay, _) if !destination.sees_mounts => Err(SnapshotError::Unseen),
            _ => self.check(destination.supervisor).await,
        }
    }

    /// Chooses the method for one job.
    async fn choose(
        &self,
        size: Size,
        destination: &Destination<'_>,
    ) -> Result<ChosenMethod, SnapshotError> {
        let copy = ChosenMethod::Copy(BlockSharing::from(self.method));
        match (self.method, destination.lifetime) {
            (SnapshotMethod::Overlay, _) => self
                .probe(destination.supervisor)
                .await
                .map(ChosenMethod::Overlay),
            (SnapshotMethod::Auto, Lifetime::Job)
                if destination.sees_mounts && size.is_worth_a_mount() =>
            {
                let overlays = self.probe(destination.supervisor).await;
                Ok(overlays.map_or(copy, ChosenMethod::Overlay))
            }
            _ => Ok(copy),
        }
    }

    /// Finds out once how overlays can be mounted on this host.
    async fn probe(&self, supervisor: &Supervisor) -> Result<Overlays, SnapshotError> {
        let probe = || async {
            let directory = self.directory.clone();
            let supervisor = supervisor.clone();
            let found = off_thread(move || {
                let _ = process::make_private_dir_all(&directory);
                let scratch = supervisor.temp_dir(&directory, "probe-")?;
                supervisor.overlays(scratch.path())
            });
            let found = found.await.unwrap_or_else(|source| {
                let path = self.directory.clone();
                Err(ProcessError::Overlay { path, source })
            });
            found.map_err(|error| {
                log_missing_overlays(&error);
                Arc::new(error)
            })
        };
        let found = self.overlays.get_or_init(probe).await;
        found.clone().map_err(SnapshotError::Overlay)
    }

    async fn make_base(&self, destination: &Destination<'_>) -> Result<Arc<Base>, SnapshotError> {
        let directory = Base::directory(&self.directory, destination.supervisor).await?;
        let tree = Base::tree_in(directory.path());
        let copied = match self.take(destination, tree.clone()).await {
            Ok(copied) => copied,
            Err(error) => {
                if let Err(left) = directory.remove().await {
                    let left = &left as &dyn Error;
                    tracing::warn!(
                        error = left,
                        "An incomplete snapshot remains; the next run removes it."
                    );
                }
                return Err(error);
            }
        };
        let base = off_thread(move || Base::new(directory, copied)).await;
        let base = base.unwrap_or_else(|source| Err(SnapshotError::Target { path: tree, source }));
        base.map(Arc::new)
    }

    async fn take(
        &self,
        destination: &Destination<'_>,
        target: PathBuf,
    ) -> Result<CopiedTree, SnapshotError> {
        let list = || self.list(destination.processes, destination.cancellation);
        let files = self.files.get_or_try_init(list).await?;
        let copy = TreeCopy {
            root: self.root.clone(),
            list: Arc::clone(files),
            target: target.clone(),
            excluded: vec![destination.builds.to_owned(), self.directory.clone()],
            // The tree may be on another file system than the snapshot, whatever the method.
            sharing: match self.method {
                SnapshotMethod::Copy => BlockSharing::Disabled,
                _ => BlockSharing::Preferred,
            },
            cancellation: destination.cancellation.clone(),
        };
        let copied = off_thread(move || copy.run()).await;
        self.compare().await;
        copied.unwrap_or_else(|source| {
            Err(SnapshotError::Target {
                path: target,
                source,
            })
        })
    }

    /// Compares the files just copied with `contents`.
    async fn compare(&self) {
        let Some(contents) = self.contents.get().map(Arc::clone) else {
            // Contents that are read later may differ from this copy.
            self.may_differ.store(true, Ordering::Release);
            return;
        };
        let root = self.root.clone();
        let still_match = off_thread(move || contents.still_match(&root)).await;
        if !still_match.unwrap_or(false) {
            self.may_differ.store(true, Ordering::Release);
        }
    }

    async fn list(
        &self,
        processes: &ProcessTree,
        cancellation: &Cancellation,
    ) -> Result<Arc<FileList>, SnapshotError> {
        let listed = file_list::files_of(&self.root, processes, cancellation).await;
        let root = || self.root.clone();
        listed.map(Arc::new).map_err(|source| match source {
            ListError::Stopped => SnapshotError::Stopped,
            _ if !self.root.is_dir() => SnapshotError::Vanished { root: root() },
            source => SnapshotError::List {
                root: root(),
                source,
            },
        })
    }
}

fn read_contents(
    root: &Path,
    list: &FileList,
    store: &ContentStore,
    known: &Path,
) -> std::io::Result<TreeContents> {
    let known_contents = KnownContents::load(known);
    let contents = TreeContents::read(root, &list.files, &list.repositories, &known_contents)?;
    if let Err(error) = known_contents.save(store, known, contents.settled()) {
        let error = &error as &dyn Error;
        tracing::debug!(
            error,
            "Digests could not be stored; the next run reads all files again."
        );
    }
    Ok(contents)
}

fn log_missing_overlays(error: &ProcessError) {
    let error = error as &dyn Error;
    tracing::debug!(error, "Overlays are not available; files are copied.");
}
