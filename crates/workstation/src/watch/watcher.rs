//! The thread that looks at a tree.

use super::debounce::Debounce;
use super::editor_files::is_editors_own;
use super::fs_watches::{Eyes, Happened};
use super::messages::{Ready, Signal, Signals, Told};
use super::tree_state::TreeState;
use super::tree_watch::WatchMeans;
use crate::project::repository::BlockingGit;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// How often it is looked where the system does not tell of changes.
pub(super) const OFTEN: Duration = Duration::from_secs(1);

/// So many ignored files are known by name, before they are found out anew.
const MOST_IGNORED: usize = 10_000;

/// So many new directories are looked at before what is in them is known.
const MOST_NEW: usize = 1000;

#[derive(Debug)]
pub(super) struct Watcher {
    root: PathBuf,
    git: BlockingGit,
    /// What git has while it changes the tree.
    index_lock: Option<PathBuf>,
    tree: TreeState,
    followed: BTreeSet<PathBuf>,
    eyes: Option<Eyes>,
    signals: Signals,
    /// Paths that are there and ignored.
    ignored: HashSet<PathBuf>,
    /// Directories without files that count, yet.
    new: HashSet<PathBuf>,
    told: UnboundedSender<Told>,
}

impl Watcher {
    pub(super) fn new(
        root: &Path,
        followed: Vec<PathBuf>,
        signals: Signals,
        told: UnboundedSender<Told>,
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
            eyes: None,
            signals,
            ignored: HashSet::new(),
            new: HashSet::new(),
            told,
        }
    }

    /// Looks at the tree for the first time; `because` says why the system is not asked to tell.
    ///
    /// # Errors
    ///
    /// When the files cannot be listed.
    pub(super) fn begin(&mut self, because: Option<String>) -> Result<Ready, String> {
        let mut means = match because {
            Some(because) => WatchMeans::Looking { because },
            None => match Eyes::new(self.signals.clone()) {
                Ok(eyes) => {
                    self.eyes = Some(eyes);
                    WatchMeans::Events
                }
                Err(because) => WatchMeans::Looking { because },
            },
        };
        // Eyes first: what changes between is heard of then.
        let files = self.list()?;
        if let Err(because) = self.turn(&files) {
            self.eyes = None;
            means = WatchMeans::Looking { because };
        }
        self.tree = TreeState::new(&self.root, files);
        self.signals.counted(self.tree.len());
        Ok(Ready { means })
    }

    /// Looks until it is told to stop.
    pub(super) fn work(mut self, signals: &Receiver<Signal>) {
        let stopped = Arc::clone(&self.signals.stopped);
        self.tree.read(|| !stopped.load(Ordering::Relaxed));
        loop {
            let signal = match self.eyes {
                Some(_) => signals.recv().map_err(|_| RecvTimeoutError::Disconnected),
                None => signals.recv_timeout(OFTEN),
            };
            let goes_on = match signal {
                Err(RecvTimeoutError::Timeout) => self.look_and_tell(),
                Err(RecvTimeoutError::Disconnected) => false,
                Ok(signal) => self.obey(signal, signals),
            };
            if !goes_on {
                return;
            }
        }
    }

    fn obey(&mut self, signal: Signal, signals: &Receiver<Signal>) -> bool {
        match signal {
            Signal::Stop => false,
            Signal::Follow(files) => {
                self.follow(files);
                true
            }
            Signal::Look(answer) => {
                // Who asked may be gone, and then the next one wants to know.
                if let Err(unheard) = answer.send(self.look()) {
                    return self.tell(unheard);
                }
                true
            }
            Signal::Lost => {
                self.signals.taken();
                self.new.extend(self.empty_directories());
                self.wait_and_look(signals)
            }
            Signal::Happened(happened) => {
                self.signals.taken();
                !self.take(happened) || self.wait_and_look(signals)
            }
        }
    }

    /// Waits until all is quiet, and looks.
    fn wait_and_look(&mut self, signals: &Receiver<Signal>) -> bool {
        let mut debounce = Debounce::new(Instant::now());
        while let Some(left) = debounce.left(Instant::now(), self.git_is_busy()) {
            match signals.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) | Ok(Signal::Stop) => return false,
                Ok(Signal::Happened(happened)) => {
                    self.signals.taken();
                    if self.take(happened) {
                        debounce.again(Instant::now());
                    }
                }
                Ok(Signal::Lost) => {
                    self.signals.taken();
                    self.new.extend(self.empty_directories());
                    debounce.again(Instant::now());
                }
                Ok(Signal::Follow(files)) => self.follow(files),
                Ok(signal @ Signal::Look(_)) => return self.obey(signal, signals),
            }
        }
        self.look_and_tell()
    }

    /// Takes note of what happened; returns whether it may be a change.
    fn take(&mut self, happened: Happened) -> bool {
        let mut matters = happened.paths.is_empty();
        for path in happened.paths {
            if happened.is_gone
                && let Some(eyes) = &mut self.eyes
            {
                eyes.forget(&path);
            }
            let below = path.strip_prefix(&self.root).unwrap_or(&path);
            if self.ignored.contains(below) {
                if happened.is_gone {
                    self.ignored.remove(below);
                }
                continue;
            }
            if is_editors_own(below) && !self.tree.knows(below) {
                continue;
            }
            if happened.is_new {
                self.meet(&path);
            }
            matters = true;
        }
        matters
    }

    /// Looks at a directory that may be new, and at those below it, before it is known what is in them.
    fn meet(&mut self, path: &Path) {
        let mut open = vec![path.to_owned()];
        while let Some(path) = open.pop() {
            let is_directory = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
            let is_git = path.file_name().is_some_and(|name| name == ".git");
            if !is_directory || is_git || self.new.len() >= MOST_NEW {
                continue;
            }
            if let Some(eyes) = &mut self.eyes {
                // Where there is no more room, the next look finds that out.
                let _ = eyes.look_at(&path);
            }
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
            self.new.insert(path);
        }
    }

    /// Counts these files too from now on; those that were not counted are no change.
    fn follow(&mut self, files: Vec<PathBuf>) {
        let files: BTreeSet<PathBuf> = files.into_iter().collect();
        if files != self.followed {
            self.followed = files;
            let list = self.list();
            if let Ok(list) = list {
                self.tree
                    .adopt(list.iter().filter(|path| self.followed.contains(*path)));
                let _ = self.turn(&list);
            }
        }
    }

    fn look_and_tell(&mut self) -> bool {
        let changed = self.look();
        self.tell(changed)
    }

    fn tell(&self, changed: Vec<String>) -> bool {
        changed.is_empty() || self.told.send(Told::Changed(changed)).is_ok()
    }

    /// Returns what changed since the last time.
    fn look(&mut self) -> Vec<String> {
        let files = match self.list() {
            Ok(files) => files,
            Err(error) => {
                // It is looked again when the next thing happens.
                tracing::warn!(error, "The files of the tree cannot be listed.");
                return Vec::new();
            }
        };
        if let Err(because) = self.turn(&files) {
            self.eyes = None;
            let _ = self.told.send(Told::Means(WatchMeans::Looking { because }));
        }
        let changed = self.tree.compare(files);
        self.signals.counted(self.tree.len());
        if changed.iter().any(|path| path.ends_with(".gitignore")) {
            self.ignored.clear();
        }
        let names = changed.iter();
        names
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    /// Returns the files that count.
    fn list(&self) -> Result<BTreeSet<PathBuf>, String> {
        let files = self
            .git
            .snapshot_files()
            .map_err(|error| error.to_string())?;
        let files = files.into_iter();
        let mut files: BTreeSet<PathBuf> = files.filter(|path| !is_editors_own(path)).collect();
        files.extend(self.followed.iter().cloned());
        Ok(files)
    }

    /// Turns the eyes to the directories of these files, and to new ones that are empty.
    fn turn(&mut self, files: &BTreeSet<PathBuf>) -> Result<(), String> {
        let Some(eyes) = &mut self.eyes else {
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
        if self.ignored.len() > MOST_IGNORED {
            self.ignored.clear();
        }
        let ignored = ignored.into_iter().filter(|path| path.is_dir());
        let below = ignored.filter_map(|path| Some(path.strip_prefix(&self.root).ok()?.to_owned()));
        self.ignored.extend(below);
        eyes.turn_to(&wanted)
    }

    /// Returns the directories of the tree that are empty, and not ignored.
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
            .take(MOST_NEW)
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
