//! What a container was shown of this host, held so that it is known whether a path still leads there.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, statat};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Files and directories as they were. While they are held open, no other gets their numbers.
#[derive(Debug, Default)]
pub(super) struct HeldPaths(Vec<(PathBuf, OwnedFd)>);

impl HeldPaths {
    /// Holds what these paths lead to; what cannot be opened is nothing to hold.
    pub(super) fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let held = paths.into_iter().filter_map(|path| {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let file = openat(CWD, &path, flags, Mode::empty()).ok()?;
            Some((path, file))
        });
        Self(held.collect())
    }

    /// Returns whether each path leads to what it led to.
    ///
    /// A container keeps what it was shown: what somebody has put in the place of it since, it does not see.
    pub(super) fn are_unchanged(&self) -> bool {
        self.0.iter().all(|(path, file)| is_same(path, file))
    }
}

fn is_same(path: &Path, file: &OwnedFd) -> bool {
    let now = statat(CWD, path, AtFlags::empty());
    matches!((now, fstat(file)), (Ok(now), Ok(then)) if (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_took_the_place_of_something_is_not_taken_for_it() {
        let root = tempfile::tempdir().unwrap();
        let (kept, replaced) = (root.path().join("kept"), root.path().join("replaced"));
        for path in [&kept, &replaced] {
            fs::create_dir(path).unwrap();
        }
        let held_paths = HeldPaths::of([kept.clone(), replaced.clone()]);
        assert!(held_paths.are_unchanged());
        fs::write(kept.join("file"), "what is in it does not matter").unwrap();
        assert!(held_paths.are_unchanged());
        fs::remove_dir(&replaced).unwrap();
        assert!(!held_paths.are_unchanged());
        fs::create_dir(&replaced).unwrap();
        assert!(!held_paths.are_unchanged());
    }
}
