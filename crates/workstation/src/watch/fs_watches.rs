use super::messages::Signals;
use notify::event::{CreateKind, ModifyKind};
use notify::{
    Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What happened in a directory that is looked at.
#[derive(Debug)]
pub(super) struct Happened {
    /// Where.
    pub(super) paths: Vec<PathBuf>,
    /// Whether something may be there that was not.
    pub(super) is_new: bool,
    /// Whether something may be gone.
    pub(super) is_gone: bool,
}

/// Hears from the system what happens in directories, each by itself: what is below one that is ignored
/// costs nothing.
#[derive(Debug)]
pub(super) struct Eyes {
    watcher: RecommendedWatcher,
    open: HashSet<PathBuf>,
}

impl Eyes {
    /// Begins to listen; what happens is told to `signals`.
    ///
    /// # Errors
    ///
    /// When the system has no more of what that takes, with words for people.
    pub(super) fn new(signals: Signals) -> Result<Self, String> {
        let tell = move |event: notify::Result<Event>| match event {
            Ok(event) if event.need_rescan() => signals.lost(),
            Ok(event) => {
                if let Some(happened) = Happened::of(event) {
                    signals.happened(happened);
                }
            }
            Err(_) => signals.lost(),
        };
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(tell, config);
        Ok(Self {
            watcher: watcher.map_err(|error| words(&error))?,
            open: HashSet::new(),
        })
    }

    /// Looks at these directories and no others.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub(super) fn turn_to(&mut self, wanted: &HashSet<PathBuf>) -> Result<(), String> {
        let superfluous = self.open.iter().filter(|path| !wanted.contains(*path));
        let superfluous: Vec<PathBuf> = superfluous.cloned().collect();
        for path in superfluous {
            // One that is gone is not looked at any more.
            let _ = self.watcher.unwatch(&path);
            self.open.remove(&path);
        }
        for path in wanted {
            self.look_at(path)?;
        }
        Ok(())
    }

    /// Looks at a directory too.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub(super) fn look_at(&mut self, path: &Path) -> Result<(), String> {
        if self.open.contains(path) {
            return Ok(());
        }
        match self.watcher.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.open.insert(path.to_owned());
                Ok(())
            }
            Err(error) if is_gone(&error, path) => Ok(()),
            Err(error) => Err(words(&error)),
        }
    }

    /// Forgets a directory that may be gone, and what was below it: what comes in its place is another.
    pub(super) fn forget(&mut self, path: &Path) {
        let gone: Vec<PathBuf> = self
            .open
            .iter()
            .filter(|it| it.starts_with(path))
            .cloned()
            .collect();
        for path in gone {
            let _ = self.watcher.unwatch(&path);
            self.open.remove(&path);
        }
    }
}

impl Happened {
    fn of(event: Event) -> Option<Self> {
        let (is_new, is_gone) = match event.kind {
            // Who only reads changes nothing.
            EventKind::Access(_) => return None,
            EventKind::Create(CreateKind::File) => (false, false),
            EventKind::Create(_) => (true, false),
            EventKind::Remove(_) => (false, true),
            EventKind::Modify(ModifyKind::Name(_)) => (true, true),
            EventKind::Modify(_) => (false, false),
            // Whatever it is, it may be either.
            _ => (true, true),
        };
        Some(Self {
            paths: event.paths,
            is_new,
            is_gone,
        })
    }
}

fn is_gone(error: &notify::Error, path: &Path) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound | ErrorKind::WatchNotFound => true,
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => true,
        _ => !fs::symlink_metadata(path).is_ok_and(|it| it.is_dir()),
    }
}

/// Says why the system does not tell of changes.
fn words(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "the system watches no more directories for you (fs.inotify.max_user_watches)"
                .to_owned()
        }
        ErrorKind::Io(error) if error.raw_os_error() == Some(EMFILE) => {
            "the system has no more of what tells of changes (fs.inotify.max_user_instances)"
                .to_owned()
        }
        _ => format!("the system does not tell of changes: {error}"),
    }
}

/// Too many open files: what the system says when a user has too many queues of events.
const EMFILE: i32 = 24;
