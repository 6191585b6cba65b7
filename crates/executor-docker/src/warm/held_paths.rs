//! The mounted paths of a warm container, held open to detect replacements.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, statat};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Open files and directories. While they are open, no other file gets their inode numbers.
#[derive(Debug, Default)]
pub(super) struct HeldPaths(Vec<(PathBuf, OwnedFd)>);

impl HeldPaths {
    /// Opens these paths; ignores those that cannot be opened.
    pub(super) fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let held = paths.into_iter().filter_map(|path| {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let file = openat(CWD, &path, flags, Mode::empty()).ok()?;
            Some((path, file))
        });
        Self(held.collect())
    }

    /// Returns whether each path still leads to the same file.
    ///
    /// A container keeps its mounts: it does not see a file that replaced one of them.
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
    fn a_replaced_path_is_detected() {
        let root = tempfile::tempdir().unwrap();
        let (kept, replaced) = (root.path().join("kept"), root.path().join("replaced"));
        for path in [&kept, &replaced] {
            fs::create_dir(path).unwrap();
        }
        let held_paths = HeldPaths::of([kept.clone(), replaced.clone()]);
        assert!(held_paths.are_unchanged());
        fs::write(kept.join("file"), "the content does not matter").unwrap();
        assert!(held_paths.are_unchanged());
        fs::remove_dir(&replaced).unwrap();
        assert!(!held_paths.are_unchanged());
        fs::create_dir(&replaced).unwrap();
        assert!(!held_paths.are_unchanged());
    }
}
