use super::messages::{Signal, Signals, Told};
use super::watcher::{OFTEN, Watcher};
use crate::error::LocalError;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

/// Tells which files of a working tree changed, of those that a snapshot of it would take.
///
/// Paths are relative to the root, with `/` between their parts. A change is told once, and only when the
/// contents of a file, or what it is, are others than before.
#[derive(Debug)]
pub struct TreeWatch {
    signals: Signals,
    told: UnboundedReceiver<Told>,
    means: WatchMeans,
    /// Another way that was not told yet.
    new_means: Option<WatchMeans>,
    thread: Option<JoinHandle<()>>,
}

/// How changes are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchMeans {
    /// The system tells of them.
    Events,
    /// It is looked for them every now and then.
    Looking {
        /// Why.
        because: String,
    },
}

/// Says how, for people.
impl fmt::Display for WatchMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events => f.write_str("the system tells of changes"),
            Self::Looking { because } => {
                write!(
                    f,
                    "it is looked for changes every {} s: {because}",
                    OFTEN.as_secs()
                )
            }
        }
    }
}

/// What a [`TreeWatch`] tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeNews {
    /// These files changed.
    Changed(Vec<String>),
    /// Changes are noticed in another way from now on.
    Means(WatchMeans),
}

impl TreeWatch {
    /// Begins to watch the tree at `root`; what changes from now on is told. The files in `followed` count
    /// even if they are ignored. `because` is a reason to look for changes rather than to be told of them.
    ///
    /// # Errors
    ///
    /// When the files of the tree cannot be listed.
    pub async fn start(
        root: &Path,
        followed: impl IntoIterator<Item = impl Into<PathBuf>>,
        because: Option<String>,
    ) -> Result<Self, LocalError> {
        let root = root.to_owned();
        let followed: Vec<PathBuf> = followed.into_iter().map(Into::into).collect();
        let (sender, receiver) = mpsc::channel();
        let signals = Signals::new(sender);
        let (tell, told) = tokio::sync::mpsc::unbounded_channel();
        let (begun, ready) = oneshot::channel();
        let of_thread = signals.clone();
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                let mut watcher = Watcher::new(&root, followed, of_thread, tell);
                let first = watcher.begin(because);
                let goes_on = first.is_ok();
                if begun.send(first).is_ok() && goes_on {
                    watcher.work(&receiver);
                }
            })
            .map_err(|error| LocalError::Watch(error.to_string()))?;
        let mut watch = Self {
            signals,
            told,
            means: WatchMeans::Events,
            new_means: None,
            thread: Some(thread),
        };
        let ready = ready.await;
        let ready = ready.map_err(|_| LocalError::Watch("the thread has ended".to_owned()))?;
        let ready = ready.map_err(LocalError::Watch)?;
        watch.means = ready.means;
        Ok(watch)
    }

    /// Returns how many files there are, as far as was looked.
    pub fn files(&self) -> usize {
        self.signals.files()
    }

    /// Returns how changes are noticed.
    pub fn means(&self) -> &WatchMeans {
        &self.means
    }

    /// Waits for the next news; `None` when there never will be any.
    ///
    /// # Cancellation
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn news(&mut self) -> Option<TreeNews> {
        if let Some(means) = self.new_means.take() {
            return Some(TreeNews::Means(means));
        }
        let told = self.told.recv().await?;
        Some(match told {
            Told::Changed(files) => TreeNews::Changed(files),
            Told::Means(means) => {
                self.means = means.clone();
                TreeNews::Means(means)
            }
        })
    }

    /// Returns whether there are news that nobody has asked for.
    pub fn has_news(&self) -> bool {
        self.new_means.is_some() || !self.told.is_empty()
    }

    /// Looks now, and returns what changed and was not told yet.
    pub async fn look(&mut self) -> Vec<String> {
        let (answer, answered) = oneshot::channel();
        self.signals.send(Signal::Look(answer));
        let now = answered.await.unwrap_or_default();
        let mut changed = Vec::new();
        while let Ok(told) = self.told.try_recv() {
            match told {
                Told::Changed(files) => changed.extend(files),
                Told::Means(means) => {
                    self.means = means.clone();
                    self.new_means = Some(means);
                }
            }
        }
        changed.extend(now);
        changed
    }

    /// Counts these files from now on even if they are ignored, and no others that are.
    pub fn follow(&self, files: impl IntoIterator<Item = impl Into<PathBuf>>) {
        let files = files.into_iter().map(Into::into).collect();
        self.signals.send(Signal::Follow(files));
    }
}

impl Drop for TreeWatch {
    fn drop(&mut self) {
        self.signals.stopped.store(true, Ordering::Relaxed);
        self.signals.send(Signal::Stop);
        if let Some(thread) = self.thread.take() {
            // A panic there was told when it happened.
            let _ = thread.join();
        }
    }
}
