//! Whose what is in an engine is, and whether he still lives.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The directory of the state with a file for each owner, which he holds locked as long as he lives.
const DIRECTORY: &str = "container-owners";

/// This process, as the owner of what it makes in engines.
#[derive(Debug)]
pub(super) struct Owner {
    id: String,
    /// Locked until this is dropped, or the process ends in whatever way.
    lock: File,
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
        Ok(Owner { id, lock })
    }

    /// Takes the place of one who lives no more, for what he left in this engine.
    pub(super) fn claim_in(&self, engine: &str, id: &str) -> Option<Owner> {
        let owner = self.claim(id)?;
        let is_here = fs::read_to_string(self.0.join(id)).is_ok_and(|of| of == engine);
        is_here.then_some(owner)
    }

    /// Takes the place of one who lives no more. `None` when he lives, somebody else is at what he left, or
    /// nobody here knows of him.
    fn claim(&self, id: &str) -> Option<Owner> {
        let is_name = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if id.is_empty() || !is_name {
            return None;
        }
        let lock = File::open(self.0.join(id)).ok()?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
        // Whoever had the lock until now may have found nothing left, and forgotten him.
        let there = fs::metadata(self.0.join(id)).ok()?;
        let is_current = lock.metadata().ok()?.ino() == there.ino();
        is_current.then(|| Owner {
            id: id.to_owned(),
            lock,
        })
    }

    /// Takes the place of all who made something in this engine and live no more.
    ///
    /// Nobody else touches what they left for as long as the result lives.
    pub(super) fn claim_dead(&self, engine: &str) -> Vec<Owner> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let here =
            entries.filter(|entry| fs::read_to_string(entry.path()).is_ok_and(|of| of == engine));
        let names = here.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|id| self.claim(&id)).collect()
    }

    /// Forgets one of whom nothing is left, if he began longer than `age` ago: one who was killed a moment
    /// ago may have asked the engine for something that it has not made yet.
    pub(super) fn forget(&self, dead: &Owner, age: Duration) {
        let begun = dead
            .lock
            .metadata()
            .and_then(|metadata| metadata.modified());
        if begun.is_ok_and(|begun| begun.elapsed().is_ok_and(|since| since >= age)) {
            // The next run tries again.
            let _ = fs::remove_file(self.0.join(&dead.id));
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

    fn ids(owners: &[Owner]) -> Vec<&str> {
        owners.iter().map(Owner::id).collect()
    }

    #[test]
    fn an_owner_lives_until_he_is_dropped() {
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
        // What the third has left is in another engine.
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
    fn what_a_dead_owner_left_is_one_processs_at_a_time() {
        let state = tempfile::tempdir().expect("a directory");
        let owners = Owners::of(state.path());
        let id = owners.enter("here").expect("in").id().to_owned();
        let resumes = owners.claim(&id).expect("he is dead");
        assert!(owners.claim(&id).is_none());
        assert!(owners.claim_dead("here").is_empty());
        drop(resumes);
        let sweeps = owners.claim_dead("here");
        assert!(owners.claim(&id).is_none());
        // Of whom nothing is left nobody knows any more.
        owners.forget(&sweeps[0], Duration::ZERO);
        drop(sweeps);
        assert!(owners.claim(&id).is_none());
    }
}
