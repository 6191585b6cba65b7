//! The messages to the thread that watches a tree.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use tokio::sync::oneshot;

/// How many events may wait. Further ones become one `Lost`.
const MAX_WAITING: usize = 4096;

/// An event in a watched directory.
#[derive(Debug)]
pub(super) struct FsEvent {
    pub(super) paths: Vec<PathBuf>,
    /// Whether it may have created something.
    pub(super) is_new: bool,
    /// Whether it may have removed something.
    pub(super) is_gone: bool,
}

/// A message to the thread.
#[derive(Debug)]
pub(super) enum Signal {
    Event(FsEvent),
    /// Some events are missing.
    Lost,
    /// Watch these files too, even if git ignores them; paths are relative to the root, or absolute.
    Follow(Vec<PathBuf>),
    /// Reply with the changes until now.
    Compare(oneshot::Sender<Vec<String>>),
    Stop,
}

/// Sends messages to the thread.
#[derive(Debug, Clone)]
pub(super) struct Signals {
    pub(super) sender: Sender<Signal>,
    waiting: Arc<AtomicUsize>,
    files: Arc<AtomicUsize>,
    pub(super) stopped: Arc<AtomicBool>,
}

impl Signals {
    pub(super) fn new(sender: Sender<Signal>) -> Self {
        Self {
            sender,
            waiting: Arc::default(),
            files: Arc::default(),
            stopped: Arc::default(),
        }
    }

    pub(super) fn event(&self, event: FsEvent) {
        match self.waiting.fetch_add(1, Ordering::Relaxed) {
            waiting if waiting < MAX_WAITING => self.send(Signal::Event(event)),
            MAX_WAITING => self.send(Signal::Lost),
            _ => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts one waiting event less.
    pub(super) fn taken(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sets how many files are watched.
    pub(super) fn set_files(&self, files: usize) {
        self.files.store(files, Ordering::Relaxed);
    }

    /// Returns how many files are watched.
    pub(super) fn files(&self) -> usize {
        self.files.load(Ordering::Relaxed)
    }

    pub(super) fn lost(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.send(Signal::Lost);
    }

    pub(super) fn send(&self, signal: Signal) {
        // The thread may have ended already.
        let _ = self.sender.send(signal);
    }
}
