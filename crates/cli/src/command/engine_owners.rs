//! Owners of objects in container engines: the processes that created them, and whether they are alive.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workstation::{FileLock, LockKind};

/// The directory of the state with a file for each owner, locked while the owner is alive.
const DIRECTORY: &str = "container-owners";

/// A process as the owner of what it creates in engines.
#[derive(Debug)]
pub(super) struct Owner {
    id: String,
    /// Locked until the owner is dropped or the process ends in any way.
    lock: FileLock,
}

/// All owners that use one state directory.
#[derive(Debug, Clone)]
pub(super) struct Owners(PathBuf);

impl Owners {
    /// Returns the owners recorded in this state directory.
    pub(super) fn of(state: &Path) -> Self {
        Self(state.join(DIRECTORY))
    }

    /// Registers this process as an owner in this engine.
    pub(super) fn enter(&self, engine: &str) -> io::Result<Owner> {
        fs::create_dir_all(&self.0)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = now.map_or(0, |since| since.as_nanos());
        let id = format!("{:x}-{nanos:x}", std::process::id());
        // The file gets its name only once it is locked, so that no process takes it for that of a dead
        // owner.
        let unnamed = self.0.join(format!(".{id}"));
        let file = File::create_new(&unnamed)?;
        let lock = FileLock::if_free(file, LockKind::Exclusive)?;
        let lock = lock.ok_or(io::ErrorKind::WouldBlock)?;
        lock.file().write_all(engine.as_bytes())?;
        fs::rename(&unnamed, self.0.join(&id))?;
        Ok(Owner { id, lock })
    }

    /// Claims a dead owner of objects in this engine.
    pub(super) fn claim_in(&self, engine: &str, id: &str) -> Option<Owner> {
        let owner = self.claim(id)?;
        let is_here = fs::read_to_string(self.0.join(id)).is_ok_and(|of| of == engine);
        is_here.then_some(owner)
    }

    /// Claims a dead owner. `None` if the owner is alive, claimed by another process, or unknown.
    fn claim(&self, id: &str) -> Option<Owner> {
        let is_name = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if id.is_empty() || !is_name {
            return None;
        }
        let path = self.0.join(id);
        let lock = FileLock::if_free(File::open(&path).ok()?, LockKind::Exclusive).ok()??;
        // The previous holder of the lock may have found no leftovers and removed the file.
        let is_current = lock.is_file(fs::metadata(&path)).ok()?;
        is_current.then(|| Owner {
            id: id.to_owned(),
            lock,
        })
    }

    /// Claims all dead owners in this engine.
    ///
    /// No other process touches their objects while the result is alive.
    pub(super) fn claim_dead(&self, engine: &str) -> Vec<Owner> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let here =
            entries.filter(|entry| fs::read_to_string(entry.path()).is_ok_and(|of| of == engine));
        let names = here.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|id| self.claim(&id)).collect()
    }

    /// Forgets an owner without objects that started longer than `age` ago. For an owner that was just
    /// killed, the engine may still be creating an object.
    pub(super) fn forget(&self, dead: &Owner, age: Duration) {
        let begun = dead
            .lock
            .file()
            .metadata()
            .and_then(|metadata| metadata.modified());
        if begun.is_ok_and(|begun| begun.elapsed().is_ok_and(|since| since >= age)) {
            // The next run tries again.
            let _ = fs::remove_file(self.0.join(&dead.id));
        }
    }
}

impl Owner {
    /// Returns the id used in labels.
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(owners: &[Owner]) -> Vec<&str> {
        owners.iter().map(Owner::id).collect()
    }

    #[test]
    fn owner_is_alive_until_dropped() {
        let state = tempfile::tempdir().expect("a directory");
        let owners = Owners::of(state.path());
        let enter = |engine| owners.enter(engine).expect("in");
        let (first, second, other) = (enter("here"), enter("here"), enter("there"));
        let [one, two, three] = [&first, &second, &other].map(|it| it.id().to_owned());
        for name in [&*one, "../container-owners", "", "nobody"] {
            assert!(owners.claim(name).is_none(), "{name}");
        }
        assert!(owners.claim_dead("here").is_empty());
        drop((first, other));
        // The third owner's objects are in another engine.
        let dead = owners.claim_dead("here");
        assert_eq!(ids(&dead), [one.as_str()]);
        assert!(owners.claim(&two).is_none());
        owners.forget(&dead[0], Duration::from_hours(1));
        drop((dead, second));
        assert_eq!(owners.claim_dead("here").len(), 2);
        assert!(owners.claim_in("here", &three).is_none());
        assert!(owners.claim_in("there", &three).is_some());
    }

    #[test]
    fn dead_owner_is_claimed_by_one_process_at_a_time() {
        let state = tempfile::tempdir().expect("a directory");
        let owners = Owners::of(state.path());
        let id = owners.enter("here").expect("in").id().to_owned();
        let resumes = owners.claim(&id).expect("the owner is dead");
        assert!(owners.claim(&id).is_none());
        assert!(owners.claim_dead("here").is_empty());
        drop(resumes);
        let sweeps = owners.claim_dead("here");
        assert!(owners.claim(&id).is_none());
        // A forgotten owner cannot be claimed.
        owners.forget(&sweeps[0], Duration::ZERO);
        drop(sweeps);
        assert!(owners.claim(&id).is_none());
    }
}
