use super::messages::{FsEvent, Signals};
use notify::event::{CreateKind, ModifyKind};
use notify::{
    Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Watches directories one by one, so that ignored directories cost nothing.
#[derive(Debug)]
pub(super) struct FsWatches {
    watcher: RecommendedWatcher,
    watched: HashSet<PathBuf>,
}

impl FsWatches {
    /// Starts without a directory; events are sent to `signals`.
    ///
    /// # Errors
    ///
    /// A message for the user, such as when a limit of the system is reached.
    pub(super) fn new(signals: Signals) -> Result<Self, String> {
        let handler = move |event: notify::Result<Event>| match event {
            Ok(event) if event.need_rescan() => signals.lost(),
            Ok(event) => {
                if let Some(event) = fs_event(event) {
                    signals.event(event);
                }
            }
            Err(_) => signals.lost(),
        };
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(handler, config);
        Ok(Self {
            watcher: watcher.map_err(|error| message(&error))?,
            watched: HashSet::new(),
        })
    }

    /// Watches these directories and no others.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub(super) fn watch_only(&mut self, wanted: &HashSet<PathBuf>) -> Result<(), String> {
        let superfluous = self.watched.iter().filter(|path| !wanted.contains(*path));
        let superfluous: Vec<PathBuf> = superfluous.cloned().collect();
        for path in superfluous {
            // A removed directory is not watched any more.
            let _ = self.watcher.unwatch(&path);
            self.watched.remove(&path);
        }
        for path in wanted {
            self.watch(path)?;
        }
        Ok(())
    }

    /// Watches a directory too.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub(super) fn watch(&mut self, path: &Path) -> Result<(), String> {
        if self.watched.contains(path) {
            return Ok(());
        }
        match self.watcher.watch(path, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.watched.insert(path.to_owned());
                Ok(())
            }
            Err(error) if is_gone(&error, path) => Ok(()),
            Err(error) => Err(message(&error)),
        }
    }

    /// Ends the watches of a removed directory and of those below it, since a new one may take its place.
    pub(super) fn unwatch(&mut self, path: &Path) {
        let gone: Vec<PathBuf> = self
            .watched
            .iter()
            .filter(|it| it.starts_with(path))
            .cloned()
            .collect();
        for path in gone {
            let _ = self.watcher.unwatch(&path);
            self.watched.remove(&path);
        }
    }
}

/// Returns the event, unless it changes nothing.
fn fs_event(event: Event) -> Option<FsEvent> {
    let (is_new, is_gone) = match event.kind {
        EventKind::Access(_) => return None,
        EventKind::Create(CreateKind::File) => (false, false),
        EventKind::Create(_) => (true, false),
        EventKind::Remove(_) => (false, true),
        EventKind::Modify(ModifyKind::Name(_)) => (true, true),
        EventKind::Modify(_) => (false, false),
        // Unknown events may be either.
        _ => (true, true),
    };
    Some(FsEvent {
        paths: event.paths,
        is_new,
        is_gone,
    })
}

fn is_gone(error: &notify::Error, path: &Path) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound | ErrorKind::WatchNotFound => true,
        ErrorKind::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => true,
        _ => !fs::symlink_metadata(path).is_ok_and(|it| it.is_dir()),
    }
}

/// Returns why the system reports no changes.
fn message(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "the limit of watched directories is reached (fs.inotify.max_user_watches)".to_owned()
        }
        ErrorKind::Io(error) if error.raw_os_error() == Some(EMFILE) => {
            "the limit of watchers is reached (fs.inotify.max_user_instances)".to_owned()
        }
        _ => format!("the system reports no changes: {error}"),
    }
}

/// The error code when a user has too many inotify instances.
const EMFILE: i32 = 24;
