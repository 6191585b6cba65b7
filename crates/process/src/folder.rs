use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

/// A directory whose content is reached without following links, not even one created meanwhile.
#[derive(Debug)]
pub struct Folder {
    root: OwnedFd,
    /// The last opened directory below it; consecutive entries mostly share it.
    last: Option<(PathBuf, OwnedFd)>,
}

impl From<OwnedFd> for Folder {
    /// Wraps an open directory.
    fn from(root: OwnedFd) -> Self {
        Self { root, last: None }
    }
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

impl Folder {
    /// Opens a directory. Links in the path are followed, since the caller chose it.
    ///
    /// # Errors
    ///
    /// When it is missing, not a directory or not accessible.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
    }

    /// Returns another handle to the same directory, for another thread.
    ///
    /// # Errors
    ///
    /// When the process has too many open files.
    pub fn share(&self) -> io::Result<Self> {
        Ok(self.root.try_clone()?.into())
    }

    /// Opens a directory below; an empty path is the directory itself.
    ///
    /// # Errors
    ///
    /// When the path leads out of the directory or through a link, or does not name an accessible directory.
    pub fn below(&mut self, path: &Path) -> rustix::io::Result<BorrowedFd<'_>> {
        if path.as_os_str().is_empty() {
            return Ok(self.root.as_fd());
        }
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            self.last = None;
            let folder = open_below(self.root.as_fd(), path)?;
            self.last = Some((path.to_owned(), folder));
        }
        let (_, folder) = self.last.as_ref().ok_or(Errno::NOENT)?;
        Ok(folder.as_fd())
    }

    /// Creates a directory below, and its parents, where missing.
    ///
    /// # Errors
    ///
    /// As for [`Folder::below`], and when a directory cannot be created.
    pub fn create(&mut self, path: &Path) -> io::Result<()> {
        if self.below(path).is_ok() {
            return Ok(());
        }
        let mut folder = openat(&self.root, ".", FOLDER, Mode::empty())?;
        for component in path.components() {
            let name = match component {
                Component::CurDir => continue,
                Component::Normal(name) => name,
                _ => return Err(Errno::XDEV.into()),
            };
            match mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            folder = openat(&folder, name, FOLDER, Mode::empty())?;
        }
        Ok(())
    }

    /// Drops the last opened directory, because it is about to be replaced.
    pub fn forget(&mut self) {
        self.last = None;
    }
}

fn open_below(root: BorrowedFd<'_>, path: &Path) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match openat2(root, path, FOLDER, Mode::empty(), resolve) {
        // An old kernel, a seccomp filter that hides the call as in many containers, or a concurrent rename.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => open_step_by_step(root, path),
        opened => opened,
    }
}

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

/// Splits a path into its directory and its name.
///
/// # Errors
///
/// When it has no name, as `/` or `..`.
pub fn parent_and_name(path: &Path) -> io::Result<(&Path, &OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((parent, name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
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
        let mut folder = Folder::open(root.path()).unwrap();
        let mut check = |path: &str, opens: bool| {
            let path = Path::new(path);
            assert_eq!(folder.below(path).is_ok(), opens, "{path:?}");
            let steps = open_step_by_step(folder.root.as_fd(), path);
            assert_eq!(steps.is_ok(), opens, "{path:?}: {steps:?}");
        };
        check("a/b", true);
        check("link", false);
        check("link/b", false);
        check("..", false);
        check("../", false);
        check("/", false);
        check("a/c", false);
        for outside in ["..", "a/../../x", "/x", "link/x"] {
            let created = folder.create(Path::new(outside));
            assert!(created.is_err(), "{outside:?}");
        }
        folder.create(Path::new("./a/c/d")).unwrap();
        assert!(root.path().join("a/c/d").is_dir());
        assert!(!root.path().join("a/x").exists());
    }
}
