use super::base::{Base, Layer};
use super::contents::TreeContents;
use super::error::SnapshotError;
use super::file_list::{self, FileList, ListError};
use super::inputs::Inputs;
use super::known_contents::KnownContents;
use super::means::{Clones, Size, SnapshotMeans, Way};
use super::take::{Take, Taken};
use crate::off_thread::off_thread;
use content_store::ContentStore;
use executor_core::Cancellation;
use process::{Overlays, ProcessError, ProcessTree, Supervisor};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::OnceCell;

/// The state of a working tree on this host that all jobs of a run begin with.
///
/// It is taken once, when the first job asks, whatever happens to the tree meanwhile: tracked and
/// untracked files as they are, not the ignored ones. A job also gets a `.git` of its own over the
/// same history, and can neither change the tree nor its repository nor what other jobs see; so do
/// the submodules that are checked out. `docs/design/sources.md` tells more.
#[derive(Debug)]
pub struct Snapshot {
    root: PathBuf,
    directory: PathBuf,
    means: SnapshotMeans,
    users: SnapshotUsers,
    files: OnceCell<Arc<FileList>>,
    overlays: OnceCell<Result<Overlays, Arc<ProcessError>>>,
    base: OnceCell<Arc<Base>>,
    contents: OnceCell<Arc<TreeContents>>,
    /// Whether a job may have got other files than `contents` tells.
    has_others: AtomicBool,
}

/// Who takes files from a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SnapshotUsers {
    /// Any number of jobs and of attempts.
    #[default]
    Many,
    /// One attempt of one job. It may get the snapshot itself, and each further one a new state.
    One,
}

/// A job's directory that is to be filled.
#[derive(Debug)]
pub(crate) struct Place<'p> {
    pub(crate) project: &'p Path,
    pub(crate) builds: &'p Path,
    pub(crate) stay: Stay,
    /// Whether the job sees what is mounted there from now on.
    pub(crate) sees_mounts: bool,
    pub(crate) supervisor: &'p Supervisor,
    pub(crate) processes: &'p ProcessTree,
    pub(crate) cancellation: &'p Cancellation,
}

/// How long a job's directory is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Until the job is over.
    Job,
    /// For longer.
    Longer,
}

/// What a job got.
#[derive(Debug)]
pub(crate) struct Brought {
    pub(crate) files: usize,
    /// What is to be said about it.
    pub(crate) warnings: Vec<String>,
    /// What is mounted for it.
    pub(crate) layer: Option<Layer>,
}

impl Snapshot {
    /// Returns the snapshot-to-be of the tree at `root`, which will be kept below `directory`.
    ///
    /// Where blocks are to be shared, builds, `directory` and the tree are best on one file system.
    pub fn new(root: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            directory: directory.into(),
            means: SnapshotMeans::default(),
            users: SnapshotUsers::default(),
            files: OnceCell::new(),
            overlays: OnceCell::new(),
            base: OnceCell::new(),
            contents: OnceCell::new(),
            has_others: AtomicBool::new(false),
        }
    }

    /// Chooses how jobs get their directories.
    #[must_use]
    pub fn with_means(self, means: SnapshotMeans) -> Self {
        Self { means, ..self }
    }

    /// Says who will use it.
    #[must_use]
    pub fn with_users(self, users: SnapshotUsers) -> Self {
        Self { users, ..self }
    }

    /// Returns the tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Lists the files before the first job asks. What goes wrong is left for that job to tell.
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

    /// Returns what the files hold that jobs will get. What was read earlier is noted in the file
    /// that `known` names beside the store it is written with, so that files that look as they did are
    /// not read again.
    ///
    /// It is read once, before the first job asks: see [`is_as_told`](Self::is_as_told).
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
        known: (&ContentStore, &Path),
        processes: &ProcessTree,
        cancellation: &Cancellation,
    ) -> Result<Arc<TreeContents>, SnapshotError> {
        let read = || async {
            let list = || self.list(processes, cancellation);
            let list = Arc::clone(self.files.get_or_try_init(list).await?);
            let root = self.root.clone();
            let (store, known) = (known.0.clone(), known.1.to_owned());
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

    /// Returns whether no job has got other files than [`contents`](Self::contents) has told: nobody
    /// changed the tree before it was copied.
    pub fn is_as_told(&self) -> bool {
        !self.has_others.load(Ordering::Acquire)
    }

    /// Finds out whether what was chosen can be had here, before any job asks.
    ///
    /// # Errors
    ///
    /// When overlays were chosen and there can be none.
    pub async fn check(&self, supervisor: &Supervisor) -> Result<(), SnapshotError> {
        match self.means {
            SnapshotMeans::Overlay => self.probe(supervisor).await.map(drop),
            SnapshotMeans::Auto | SnapshotMeans::Reflink | SnapshotMeans::Copy => Ok(()),
        }
    }

    /// Removes what is kept for jobs, at the end of the run.
    pub async fn discard(&self) {
        if let Some(base) = self.base.get() {
            base.discard().await;
        }
    }

    /// Fills a job's directory, also with those of its inputs that can be shown at no cost; the layer
    /// knows which.
    ///
    /// # Cancellation
    ///
    /// Stops the listing, or between two files, with [`SnapshotError::Stopped`]. Another job that
    /// waits for the same snapshot takes it anew.
    pub(crate) async fn bring(
        &self,
        place: &Place<'_>,
        inputs: &Inputs,
    ) -> Result<Brought, SnapshotError> {
        let copies = matches!(self.means, SnapshotMeans::Auto | SnapshotMeans::Copy);
        if self.users == SnapshotUsers::One && copies {
            let taken = self.take(place, place.project.to_owned()).await?;
            return Ok(Brought {
                files: taken.size.files,
                warnings: taken.warnings,
                layer: None,
            });
        }
        self.refuse(place).await?;
        let base = self.base.get_or_try_init(|| self.make_base(place)).await?;
        let size = base.size().and(inputs.size());
        let layer = match self.way(size, place).await? {
            Way::Overlay(overlays) => match Base::lay(base, overlays, place, inputs).await {
                Err(SnapshotError::Overlay(error)) if self.means == SnapshotMeans::Auto => {
                    tell_of_refusal(&error);
                    Base::copy(base, Clones::Wanted, place).await?;
                    None
                }
                laid => Some(laid?),
            },
            Way::Copy(clones) => {
                Base::copy(base, clones, place).await?;
                None
            }
        };
        Ok(Brought {
            files: base.size().files,
            warnings: base.warnings().to_vec(),
            layer,
        })
    }

    /// Refuses what was chosen and cannot be had, before anything is copied for it.
    async fn refuse(&self, place: &Place<'_>) -> Result<(), SnapshotError> {
        match (self.means, place.stay) {
            (SnapshotMeans::Overlay, Stay::Longer) => Err(SnapshotError::Kept),
            (SnapshotMeans::Overlay, _) if !place.sees_mounts => Err(SnapshotError::Unseen),
            _ => self.check(place.supervisor).await,
        }
    }

    /// Decides how a job gets its directory.
    async fn way(&self, size: Size, place: &Place<'_>) -> Result<Way, SnapshotError> {
        let copy = Way::Copy(Clones::from(self.means));
        match (self.means, place.stay) {
            (SnapshotMeans::Overlay, _) => self.probe(place.supervisor).await.map(Way::Overlay),
            (SnapshotMeans::Auto, Stay::Job) if place.sees_mounts && size.is_worth_a_mount() => {
                let overlays = self.probe(place.supervisor).await;
                Ok(overlays.map_or(copy, Way::Overlay))
            }
            _ => Ok(copy),
        }
    }

    /// Finds out once how overlays are made here.
    async fn probe(&self, supervisor: &Supervisor) -> Result<Overlays, SnapshotError> {
        let probe = || async {
            let directory = self.directory.clone();
            let supervisor = supervisor.clone();
            let found = off_thread(move || {
                let _ = fs::create_dir_all(&directory);
                let scratch = supervisor.temp_dir(&directory, "probe-")?;
                supervisor.overlays(scratch.path())
            });
            let found = found.await.unwrap_or_else(|source| {
                let path = self.directory.clone();
                Err(ProcessError::Overlay { path, source })
            });
            found.map_err(|error| {
                tell_of_refusal(&error);
                Arc::new(error)
            })
        };
        let found = self.overlays.get_or_init(probe).await;
        found.clone().map_err(SnapshotError::Overlay)
    }

    async fn make_base(&self, place: &Place<'_>) -> Result<Arc<Base>, SnapshotError> {
        let directory = Base::directory(&self.directory, place.supervisor).await?;
        let tree = Base::tree_in(directory.path());
        let taken = match self.take(place, tree.clone()).await {
            Ok(taken) => taken,
            Err(error) => {
                if let Err(left) = directory.remove().await {
                    let left = &left as &dyn Error;
                    tracing::warn!(error = left, "Half a snapshot is left for the next run.");
                }
                return Err(error);
            }
        };
        let base = off_thread(move || Base::new(directory, taken)).await;
        let base = base.unwrap_or_else(|source| Err(SnapshotError::Target { path: tree, source }));
        base.map(Arc::new)
    }

    async fn take(&self, place: &Place<'_>, target: PathBuf) -> Result<Taken, SnapshotError> {
        let list = || self.list(place.processes, place.cancellation);
        let files = self.files.get_or_try_init(list).await?;
        let take = Take {
            root: self.root.clone(),
            list: Arc::clone(files),
            target: target.clone(),
            ours: vec![place.builds.to_owned(), self.directory.clone()],
            // The tree may well be elsewhere than the snapshot, which is no matter of choice.
            clones: match self.means {
                SnapshotMeans::Copy => Clones::Refused,
                _ => Clones::Wanted,
            },
            cancellation: place.cancellation.clone(),
        };
        let taken = off_thread(move || take.run()).await;
        self.compare().await;
        taken.unwrap_or_else(|source| {
            Err(SnapshotError::Target {
                path: target,
                source,
            })
        })
    }

    /// Finds out whether what was just copied is what was told of it.
    async fn compare(&self) {
        let Some(contents) = self.contents.get().map(Arc::clone) else {
            // Whoever asks from now on is told of the tree as it is then.
            self.has_others.store(true, Ordering::Release);
            return;
        };
        let root = self.root.clone();
        let still_hold = off_thread(move || contents.still_hold(&root)).await;
        if !still_hold.unwrap_or(false) {
            self.has_others.store(true, Ordering::Release);
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
    let noted = KnownContents::load(known);
    let contents = TreeContents::read(root, &list.files, &list.repositories, &noted)?;
    if let Err(error) = noted.save(store, known, &contents.files) {
        let error = &error as &dyn Error;
        tracing::debug!(error, "Files will be read again the next time.");
    }
    Ok(contents)
}

fn tell_of_refusal(error: &ProcessError) {
    let error = error as &dyn Error;
    tracing::debug!(error, "An overlay cannot be had; files are copied.");
}
