//! What the thread that looks at a tree is told, and what it tells.

use super::fs_watches::Happened;
use super::tree_watch::WatchMeans;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use tokio::sync::oneshot;

/// So many things that happened may wait; of more it is only known that there were more.
const MOST_WAITING: usize = 4096;

/// What the thread is told.
#[derive(Debug)]
pub(super) enum Signal {
    Happened(Happened),
    /// Not all that happened was told.
    Lost,
    /// These files count too, whatever git says; their paths are relative to the root, or absolute.
    Follow(Vec<PathBuf>),
    /// Somebody waits for what is different now.
    Look(oneshot::Sender<Vec<String>>),
    Stop,
}

/// The way to the thread.
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

    pub(super) fn happened(&self, happened: Happened) {
        match self.waiting.fetch_add(1, Ordering::Relaxed) {
            waiting if waiting < MOST_WAITING => self.send(Signal::Happened(happened)),
            MOST_WAITING => self.send(Signal::Lost),
            _ => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Notes that something that happened is not waiting any more.
    pub(super) fn taken(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes how many files count.
    pub(super) fn counted(&self, files: usize) {
        self.files.store(files, Ordering::Relaxed);
    }

    /// Returns how many files count.
    pub(super) fn files(&self) -> usize {
        self.files.load(Ordering::Relaxed)
    }

    pub(super) fn lost(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.send(Signal::Lost);
    }

    pub(super) fn send(&self, signal: Signal) {
        // Nobody listens any more when all ends.
        let _ = self.sender.send(signal);
    }
}

/// What the thread tells.
#[derive(Debug)]
pub(super) enum Told {
    Changed(Vec<String>),
    Means(WatchMeans),
}

/// The first thing it tells, before it reads what is in the files.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) means: WatchMeans,
}
