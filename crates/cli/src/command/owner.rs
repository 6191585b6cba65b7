//! Whose what is in an engine is, and whether he still lives.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The directory of the state with a file for each owner, which he holds locked as long as he lives.
const DIRECTORY: &str = "container-owners";

/// This process, as the owner of what it makes in engines.
#[derive(Debug)]
pub(super) struct Owner {
    id: String,
    /// Locked until this is dropped, or the process ends in whatever way.
    _lock: File,
}

/// All owners that use one state directory.
#[derive(Debug, Clone)]
pub(super) struct Owners(PathBuf);

impl Owners {
    /// Returns those whose state is in this directory.
    pub(super) fn of(state: &Path) -> Self {
        Self(state.join(DIRECTORY))
    }

    /// Makes this process one of them, with what it makes in this engine.
    pub(super) fn enter(&self, engine: &str) -> io::Result<Owner> {
        fs::create_dir_all(&self.0)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = now.map_or(0, |since| since.as_nanos());
        let id = format!("{:x}-{nanos:x}", std::process::id());
        // It has its name only once it is locked: nobody finds it as that of a dead one.
        let unnamed = self.0.join(format!(".{id}"));
        let mut lock = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&unnamed)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        lock.write_all(engine.as_bytes())?;
        fs::rename(&unnamed, self.0.join(&id))?;
        Ok(Owner { id, _lock: lock })
    }

    /// Returns whether what has this owner is in use; of an owner that is none of these, nobody here knows.
    pub(super) fn may_live(&self, id: &str) -> bool {
        let is_name = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if id.is_empty() || !is_name {
            return true;
        }
        let Ok(file) = File::open(self.0.join(id)) else {
            return true;
        };
        !matches!(
            flock(&file, FlockOperation::NonBlockingLockShared),
            Ok(()) | Err(Errno::NOENT)
        )
    }

    /// Returns those of this engine that live no more and began longer than `age` ago.
    ///
    /// Ask before what they have left is removed: of who dies in between, something may still be there. One
    /// who was killed a moment ago may have asked the engine for something that it has not made yet.
    pub(super) fn dead(&self, engine: &str, age: Duration) -> Vec<String> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let dead = entries.filter(|entry| {
            let begun = entry.metadata().and_then(|metadata| metadata.modified());
            let is_old = begun.is_ok_and(|begun| begun.elapsed().is_ok_and(|since| since >= age));
            is_old && fs::read_to_string(entry.path()).is_ok_and(|of| of == engine)
        });
        let names = dead.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|id| !self.may_live(id)).collect()
    }

    /// Forgets those of whom nothing is left.
    pub(super) fn forget(&self, dead: &[String]) {
        for id in dead {
            // The next run tries again.
            let _ = fs::remove_file(self.0.join(id));
        }
    }
}

impl Owner {
    /// Returns what labels name him by.
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_lives_until_he_is_dropped() {
        let state = tempfile::tempdir().expect("a directory");
        let owners = Owners::of(state.path());
        let enter = |engine| owners.enter(engine).expect("in");
        let (first, second, other) = (enter("here"), enter("here"), enter("there"));
        let [one, two, three] = [&first, &second, &other].map(|it| it.id().to_owned());
        assert!(owners.may_live(&one) && owners.may_live(&two));
        assert!(owners.may_live("../container-owners") && owners.may_live(""));
        let dead = || owners.dead("here", Duration::ZERO);
        assert!(dead().is_empty());
        drop((first, other));
        assert!(!owners.may_live(&one) && owners.may_live(&two));
        // What the third has left is in another engine.
        assert_eq!(dead(), [one.as_str()]);
        assert!(owners.dead("here", Duration::from_hours(1)).is_empty());
        let before = dead();
        drop(second);
        owners.forget(&before);
        // Now he is a stranger; who died since is not.
        assert!(owners.may_live(&one) && !owners.may_live(&two) && !owners.may_live(&three));
    }
}
