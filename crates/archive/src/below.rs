//! Opens directories below a root without following links.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::path::{Component, Path, PathBuf};

/// Opens the directory that the caller named. Links in its path are trusted and followed.
pub(crate) fn open_root(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Caches the directory opened last, because sorted paths need the same one repeatedly.
#[derive(Debug, Default)]
pub(crate) struct LastFolder(Option<(PathBuf, OwnedFd)>);

impl LastFolder {
    /// Opens a directory below `root`; an empty path is the root.
    pub(crate) fn open(
        &mut self,
        root: &OwnedFd,
        path: &Path,
    ) -> rustix::io::Result<BorrowedFd<'_>> {
        if self.0.as_ref().is_none_or(|(last, _)| last != path) {
            let folder = open_folder(root.as_fd(), path)?;
            self.0 = Some((path.to_owned(), folder));
        }
        let (_, folder) = self.0.as_ref().ok_or(Errno::NOENT)?;
        Ok(folder.as_fd())
    }
}

/// Opens a directory below `root` without following a link; an empty path is the root.
pub(crate) fn open_folder(root: BorrowedFd<'_>, path: &Path) -> rustix::io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(root, path, FOLDER, Mode::empty(), resolve) {
            // An old kernel, a filter that acts like one, or a concurrent rename.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            done => return done,
        }
    }
    open_step_by_step(root, path)
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

/// Opens the directories of a path one after the other.
fn open_step_by_step(root: BorrowedFd<'_>, path: &Path) -> rustix::io::Result<OwnedFd> {
    let mut folder = openat(root, ".", FOLDER, Mode::empty())?;
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => folder = openat(&folder, name, FOLDER, Mode::empty())?,
            _ => return Err(Errno::XDEV),
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn directories_behind_links_are_not_opened() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        symlink("a", root.path().join("link")).unwrap();
        let root = open_root(root.path()).unwrap();
        let check = |path: &str, opens: bool| {
            let path = Path::new(path);
            let ways = [
                open_folder(root.as_fd(), path),
                open_step_by_step(root.as_fd(), path),
            ];
            for way in ways {
                assert_eq!(way.is_ok(), opens, "{path:?}: {way:?}");
            }
        };
        check("a/b", true);
        check("link", false);
        check("link/b", false);
        check("../", false);
        check("/", false);
        check("a/c", false);
    }
}
