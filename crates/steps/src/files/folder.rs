use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

/// A directory that gives access to its content without following links.
#[derive(Debug)]
pub(crate) struct Folder {
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
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { root, last: None })
    }

    /// Opens a directory below; an empty path is the directory itself.
    pub(crate) fn below(&mut self, path: &Path) -> rustix::io::Result<BorrowedFd<'_>> {
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
    pub(crate) fn create(&mut self, path: &Path) -> io::Result<()> {
        if self.below(path).is_ok() {
            return Ok(());
        }
        let mut folder = openat(&self.root, ".", FOLDER, Mode::empty())?;
        for name in path {
            match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            folder = openat(&folder, name, FOLDER, Mode::empty())?;
        }
        Ok(())
    }

    /// Drops the last opened directory, because it is about to be replaced.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }
}

fn open_below(root: BorrowedFd<'_>, path: &Path) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(root, path, FOLDER, Mode::empty(), resolve) {
            // An old kernel, or a seccomp filter that hides the call, as in many containers.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            done => return done,
        }
    }
    open_step_by_step(root, path)
}

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
pub(crate) fn parts(path: &Path) -> io::Result<(&Path, &OsStr)> {
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
    fn directory_behind_a_link_is_not_opened() {
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
        check("/", false);
        check("a/c", false);
    }
}
