//! Whose what is in an engine is, and whether he still lives.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

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

    /// Makes this process one of them.
    pub(super) fn enter(&self) -> io::Result<Owner> {
        fs::create_dir_all(&self.0)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = now.map_or(0, |since| since.as_nanos());
        let id = format!("{:x}-{nanos:x}", std::process::id());
        // It has its name only once it is locked: nobody finds it as that of a dead one.
        let unnamed = self.0.join(format!(".{id}"));
        let lock = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&unnamed)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
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

    /// Forgets those that live no more, once nothing of them is left.
    pub(super) fn forget_dead(&self) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if let Some(id) = name.to_str()
                && !self.may_live(id)
            {
                // The next run tries again.
                let _ = fs::remove_file(entry.path());
            }
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
        let (first, second) = (owners.enter().expect("in"), owners.enter().expect("in"));
        let (one, two) = (first.id().to_owned(), second.id().to_owned());
        assert!(owners.may_live(&one) && owners.may_live(&two));
        drop(first);
        assert!(!owners.may_live(&one) && owners.may_live(&two));
        owners.forget_dead();
        // Now he is a stranger.
        assert!(owners.may_live(&one) && owners.may_live(&two));
        assert!(owners.may_live("../container-owners") && owners.may_live(""));
        drop(second);
        owners.forget_dead();
        let left = fs::read_dir(state.path().join(DIRECTORY)).expect("a directory");
        assert_eq!(left.count(), 0);
    }
}
