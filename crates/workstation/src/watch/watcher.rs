//! The thread that watches a tree.

use super::debounce::Debounce;
use super::editor_files::is_editor_file;
use super::fs_watches::FsWatches;
use super::messages::{FsEvent, Signal, Signals};
use super::tree_news::{POLL_INTERVAL, TreeNews, WatchMeans};
use super::tree_state::TreeState;
use crate::project::repository::BlockingGit;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;

/// How many ignored files are remembered.
const MAX_IGNORED: usize = 10_000;

/// How many new directories are watched before their files are known.
const MAX_NEW: usize = 1000;

#[derive(Debug)]
pub(super) struct Watcher {
    root: PathBuf,
    git: BlockingGit,
    /// The file that exists while git changes the tree.
    index_lock: Option<PathBuf>,
    tree: TreeState,
    followed: BTreeSet<PathBuf>,
    /// `None` while polling.
    watches: Option<FsWatches>,
    signals: Signals,
    /// Existing ignored paths.
    ignored: HashSet<PathBuf>,
    /// Directories without watched files yet.
    new: HashSet<PathBuf>,
    news: UnboundedSender<TreeNews>,
}

impl Watcher {
    pub(super) fn new(
        root: &Path,
        followed: Vec<PathBuf>,
        signals: Signals,
        news: UnboundedSender<TreeNews>,
    ) -> Self {
        let git = BlockingGit::new(root);
        let index = git.read(&["rev-parse", "--git-path", "index.lock"]).ok();
        let index_lock = index.and_then(|path| {
            let path = String::from_utf8(path).ok()?;
            Some(root.join(path.trim_end_matches('\n')))
        });
        Self {
            root: root.to_owned(),
            git,
            index_lock,
            tree: TreeState::new(root, []),
            followed: followed.into_iter().collect(),
            watches: None,
            signals,
            ignored: HashSet::new(),
            new: HashSet::new(),
            news,
        }
    }

    /// Reads the tree for the first time; with a reason to poll, without events of the system.
    ///
    /// # Errors
    ///
    /// When the files cannot be listed.
    pub(super) fn start(&mut self, poll_reason: Option<String>) -> Result<WatchMeans, String> {
        let mut means = match poll_reason {
            Some(reason) => WatchMeans::Polling { reason },
            None => match FsWatches::new(self.signals.clone()) {
                Ok(watches) => {
                    self.watches = Some(watches);
                    WatchMeans::Events
                }
                Err(reason) => WatchMeans::Polling { reason },
            },
        };
        // Watched before it is read, so that changes in between cause events.
        let files = self.list()?;
        if let Err(reason) = self.update_watches(&files) {
            self.watches = None;
            means = WatchMeans::Polling { reason };
        }
        self.tree = TreeState::new(&self.root, files);
        self.signals.set_files(self.tree.len());
        Ok(means)
    }

    /// Handles signals until `Stop`.
    pub(super) fn run(mut self, signals: &Receiver<Signal>) {
        let stopped = Arc::clone(&self.signals.stopped);
        self.tree.read(|| !stopped.load(Ordering::Relaxed));
        loop {
            let signal = match self.watches {
                Some(_) => signals.recv().map_err(|_| RecvTimeoutError::Disconnected),
                None => signals.recv_timeout(POLL_INTERVAL),
            };
            let should_continue = match signal {
                Err(RecvTimeoutError::Timeout) => self.compare_and_report(),
                Err(RecvTimeoutError::Disconnected) => false,
                Ok(signal) => self.handle(signal, signals),
            };
            if !should_continue {
                return;
            }
        }
    }

    /// Handles a signal; returns whether to continue.
    fn handle(&mut self, signal: Signal, signals: &Receiver<Signal>) -> bool {
        match signal {
            Signal::Stop => false,
            Signal::Follow(files) => {
                self.follow(files);
                true
            }
            Signal::Compare(reply) => {
                // If the receiver is gone, the changes become news.
                if let Err(changed) = reply.send(self.compare()) {
                    return self.report(changed);
                }
                true
            }
            Signal::Lost => {
                self.signals.taken();
                self.new.extend(self.empty_directories());
                self.wait_and_compare(signals)
            }
            Signal::Event(event) => {
                self.signals.taken();
                !self.take(event) || self.wait_and_compare(signals)
            }
        }
    }

    /// Waits until no more events come, and compares the tree.
    fn wait_and_compare(&mut self, signals: &Receiver<Signal>) -> bool {
        let mut debounce = Debounce::new(Instant::now());
        while let Some(left) = debounce.left(Instant::now(), self.git_is_busy()) {
            match signals.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) | Ok(Signal::Stop) => return false,
                Ok(Signal::Event(event)) => {
                    self.signals.taken();
                    if self.take(event) {
                        debounce.event(Instant::now());
                    }
                }
                Ok(Signal::Lost) => {
                    self.signals.taken();
                    self.new.extend(self.empty_directories());
                    debounce.event(Instant::now());
                }
                Ok(Signal::Follow(files)) => self.follow(files),
                Ok(signal @ Signal::Compare(_)) => return self.handle(signal, signals),
            }
        }
        self.compare_and_report()
    }

    /// Updates the watches after an event; returns whether it may be a change.
    fn take(&mut self, event: FsEvent) -> bool {
        let mut matters = event.paths.is_empty();
        for path in event.paths {
            if event.is_gone
                && let Some(watches) = &mut self.watches
            {
                watches.unwatch(&path);
            }
            let below = path.strip_prefix(&self.root).unwrap_or(&path);
            if self.ignored.contains(below) {
                if event.is_gone {
                    self.ignored.remove(below);
                }
                continue;
            }
            if is_editor_file(below) && !self.tree.contains(below) {
                continue;
            }
            if event.is_new {
                self.watch_new(&path);
            }
            matters = true;
        }
        matters
    }

    /// Watches a directory that may be new, and those below it, before their files are listed.
    fn watch_new(&mut self, path: &Path) {
        let mut open = vec![path.to_owned()];
        while let Some(path) = open.pop() {
            let is_directory = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
            let is_git = path.file_name().is_some_and(|name| name == ".git");
            if !is_directory || is_git || self.new.len() >= MAX_NEW {
                continue;
            }
            if let Some(watches) = &mut self.watches {
                // A reached limit is reported by the next comparison.
                let _ = watches.watch(&path);
            }
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
            self.new.insert(path);
        }
    }

    /// Watches these files too. Adding them is not a change.
    fn follow(&mut self, files: Vec<PathBuf>) {
        let files: BTreeSet<PathBuf> = files.into_iter().collect();
        if files != self.followed {
            self.followed = files;
            let list = self.list();
            if let Ok(list) = list {
                self.tree
                    .add(list.iter().filter(|path| self.followed.contains(*path)));
                let _ = self.update_watches(&list);
            }
        }
    }

    fn compare_and_report(&mut self) -> bool {
        let changed = self.compare();
        self.report(changed)
    }

    fn report(&self, changed: Vec<String>) -> bool {
        changed.is_empty() || self.news.send(TreeNews::Changed(changed)).is_ok()
    }

    /// Returns the changes since the last comparison.
    fn compare(&mut self) -> Vec<String> {
        let files = match self.list() {
            Ok(files) => files,
            Err(error) => {
                // The next event compares again.
                tracing::warn!(error, "The files of the tree cannot be listed.");
                return Vec::new();
            }
        };
        if let Err(reason) = self.update_watches(&files) {
            self.watches = None;
            let means = WatchMeans::Polling { reason };
            let _ = self.news.send(TreeNews::Means(means));
        }
        let changed = self.tree.compare(files);
        self.signals.set_files(self.tree.len());
        if changed.iter().any(|path| path.ends_with(".gitignore")) {
            self.ignored.clear();
        }
        let names = changed.iter();
        names
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    /// Returns the files to watch.
    fn list(&self) -> Result<BTreeSet<PathBuf>, String> {
        let files = self
            .git
            .snapshot_files()
            .map_err(|error| error.to_string())?;
        let files = files.into_iter();
        let mut files: BTreeSet<PathBuf> = files.filter(|path| !is_editor_file(path)).collect();
        files.extend(self.followed.iter().cloned());
        Ok(files)
    }

    /// Watches the directories of these files, and new ones that are empty.
    fn update_watches(&mut self, files: &BTreeSet<PathBuf>) -> Result<(), String> {
        let Some(watches) = &mut self.watches else {
            return Ok(());
        };
        let mut wanted = HashSet::from([self.root.clone()]);
        let mut last = None;
        for file in files {
            if file.is_absolute() {
                wanted.extend(file.parent().map(Path::to_owned));
                continue;
            }
            let mut directory = file.parent();
            while let Some(path) = directory.filter(|path| Some(*path) != last) {
                if !wanted.insert(self.root.join(path)) {
                    break;
                }
                directory = path.parent();
            }
            last = file.parent();
        }
        self.new.retain(|path| !wanted.contains(path));
        let (empty, ignored): (Vec<PathBuf>, Vec<PathBuf>) =
            self.new.drain().partition(|path| has_no_files(path));
        self.new.extend(empty);
        wanted.extend(self.new.iter().cloned());
        if self.ignored.len() > MAX_IGNORED {
            self.ignored.clear();
        }
        let ignored = ignored.into_iter().filter(|path| path.is_dir());
        let below = ignored.filter_map(|path| Some(path.strip_prefix(&self.root).ok()?.to_owned()));
        self.ignored.extend(below);
        watches.watch_only(&wanted)
    }

    /// Returns the empty directories of the tree that are not ignored.
    fn empty_directories(&self) -> Vec<PathBuf> {
        let args = [
            "ls-files",
            "-z",
            "--others",
            "--directory",
            "--exclude-standard",
        ];
        let listed = self.git.read(&args).unwrap_or_default();
        let names = listed.split(|byte| *byte == 0);
        let names = names.filter_map(|name| name.strip_suffix(b"/"));
        let names = names.map(|name| self.root.join(String::from_utf8_lossy(name).as_ref()));
        names
            .filter(|path| has_no_files(path))
            .take(MAX_NEW)
            .collect()
    }

    fn git_is_busy(&self) -> bool {
        self.index_lock.as_ref().is_some_and(|path| path.exists())
    }
}

fn has_no_files(path: &Path) -> bool {
    let entries = fs::read_dir(path).map(|entries| {
        let mut entries = entries.flatten();
        entries.all(|entry| entry.file_type().is_ok_and(|it| it.is_dir()))
    });
    entries.unwrap_or(false)
}
