use super::messages::{Signal, Signals};
use super::tree_news::{TreeNews, WatchMeans};
use super::watcher::Watcher;
use crate::error::LocalError;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

/// Reports the changed files of a working tree, among those of a snapshot.
///
/// Paths are relative to the root, with `/` as separator. A change is reported once, and only if the contents, the
/// kind or the permissions of a file changed.
#[derive(Debug)]
pub struct TreeWatch {
    signals: Signals,
    news: UnboundedReceiver<TreeNews>,
    means: WatchMeans,
    /// A change of the means that was not reported yet.
    new_means: Option<WatchMeans>,
    thread: Option<JoinHandle<()>>,
}

impl TreeWatch {
    /// Starts to watch the tree at `root`. The files in `followed` are watched even if they are ignored. With a
    /// reason to poll, the tree is compared at an interval.
    ///
    /// # Errors
    ///
    /// When the files of the tree cannot be listed.
    pub async fn start(
        root: &Path,
        followed: impl IntoIterator<Item = impl Into<PathBuf>>,
        poll_reason: Option<String>,
    ) -> Result<Self, LocalError> {
        let root = root.to_owned();
        let followed: Vec<PathBuf> = followed.into_iter().map(Into::into).collect();
        let (sender, receiver) = mpsc::channel();
        let signals = Signals::new(sender);
        let (sender_of_news, news) = tokio::sync::mpsc::unbounded_channel();
        let (started, ready) = oneshot::channel();
        let signals_of_thread = signals.clone();
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                let mut watcher = Watcher::new(&root, followed, signals_of_thread, sender_of_news);
                let first = watcher.start(poll_reason);
                let is_started = first.is_ok();
                if started.send(first).is_ok() && is_started {
                    watcher.run(&receiver);
                }
            })
            .map_err(|error| LocalError::Watch(error.to_string()))?;
        let mut watch = Self {
            signals,
            news,
            means: WatchMeans::Events,
            new_means: None,
            thread: Some(thread),
        };
        let ready = ready.await;
        let ready = ready.map_err(|_| LocalError::Watch("the thread has ended".to_owned()))?;
        let ready = ready.map_err(LocalError::Watch)?;
        watch.means = ready;
        Ok(watch)
    }

    /// Returns how many files are watched.
    pub fn files(&self) -> usize {
        self.signals.files()
    }

    /// Returns how changes are found.
    pub fn means(&self) -> &WatchMeans {
        &self.means
    }

    /// Waits for news; `None` if the watch has ended.
    ///
    /// # Cancellation
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn news(&mut self) -> Option<TreeNews> {
        if let Some(means) = self.new_means.take() {
            return Some(TreeNews::Means(means));
        }
        let news = self.news.recv().await?;
        if let TreeNews::Means(means) = &news {
            self.means = means.clone();
        }
        Some(news)
    }

    /// Returns whether there are unread news.
    pub fn has_news(&self) -> bool {
        self.new_means.is_some() || !self.news.is_empty()
    }

    /// Compares the tree now, and returns all unreported changes.
    pub async fn compare_now(&mut self) -> Vec<String> {
        let (reply, replied) = oneshot::channel();
        self.signals.send(Signal::Compare(reply));
        let now = replied.await.unwrap_or_default();
        let mut changed = Vec::new();
        while let Ok(news) = self.news.try_recv() {
            match news {
                TreeNews::Changed(files) => changed.extend(files),
                TreeNews::Means(means) => {
                    self.means = means.clone();
                    self.new_means = Some(means);
                }
            }
        }
        changed.extend(now);
        changed
    }

    /// Watches these files even if they are ignored, and no other ignored ones.
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
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}
