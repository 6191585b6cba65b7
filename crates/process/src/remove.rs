//! Removes directories that jobs have written to.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, renameat,
    rmdir, statat, unlink, unlinkat,
};
use rustix::io::Errno;

use crate::private_dir::open_to_owner_only;

/// The largest number of open directories; deeper ones are moved up first.
const MAX_OPEN_DEPTH: usize = 64;
/// Enough for any depth, and a bound when another process keeps writing.
const MAX_ROUNDS: u32 = 100_000;

/// Removes a file, a link, or a directory with all its content.
///
/// It never follows links and never enters mounts, whose files are not the job's. Directories without write permission
/// are made writable first, because jobs leave such behind. A missing path is not an error.
///
/// # Errors
///
/// Fails if an entry cannot be removed, usually because it belongs to another user or is a mount point. The rest is
/// removed where possible.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let name = path
        .file_name()
        .and_then(|name| CString::new(name.as_bytes()).ok())
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match openat(CWD, parent.unwrap_or(Path::new(".")), flags, Mode::empty()) {
        Ok(parent) => parent,
        Err(error) => return unless_missing(error),
    };
    match remove_entry(parent.as_fd(), &name, None, 0) {
        Err(Errno::ACCESS | Errno::PERM) => {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
            make_writable(&open_inside(parent.as_fd(), &name, flags)?);
            remove_entry(parent.as_fd(), &name, None, 0)
        }
        result => result,
    }
    .or_else(unless_missing)
}

/// As [`remove_tree`], but on a thread for blocking work.
///
/// An empty directory or a file is removed at once: waking a thread costs many times as much.
///
/// # Errors
///
/// As [`remove_tree`], and when the runtime shuts down.
pub async fn remove_tree_off_thread(path: &Path) -> io::Result<()> {
    if remove_single(path) {
        return Ok(());
    }
    let path = path.to_owned();
    let removed = tokio::task::spawn_blocking(move || remove_tree(&path)).await;
    removed.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        // The runtime shuts down.
        Err(canceled) => Err(io::Error::other(canceled)),
    })
}

/// Removes a file, a link or an empty directory, and returns whether the path no longer exists.
fn remove_single(path: &Path) -> bool {
    let removed = match rmdir(path) {
        Err(Errno::NOTDIR) => unlink(path),
        removed => removed,
    };
    matches!(removed, Ok(()) | Err(Errno::NOENT))
}

fn unless_missing(error: Errno) -> io::Result<()> {
    match error {
        Errno::NOENT | Errno::NOTDIR => Ok(()),
        Errno::XDEV => Err(io::Error::new(
            io::ErrorKind::CrossesDevices,
            "it contains a mount",
        )),
        error => Err(error.into()),
    }
}

/// Removes one entry of `parent`. Deep directories are moved up to `top` before they are emptied.
fn remove_entry(
    parent: BorrowedFd<'_>,
    name: &CStr,
    top: Option<BorrowedFd<'_>>,
    depth: usize,
) -> rustix::io::Result<()> {
    let directory = match open_below(parent, name) {
        Ok(directory) => directory,
        Err(Errno::NOTDIR | Errno::LOOP) => return unlinkat(parent, name, AtFlags::empty()),
        Err(error) => return Err(error),
    };
    if let Some(top) = top.filter(|_| depth >= MAX_OPEN_DEPTH) {
        let inode = fstat(&directory)?.st_ino;
        let moved = CString::new(format!(".removed-{inode}")).map_err(|_| Errno::INVAL)?;
        if renameat(parent, name, top, &moved).is_ok() {
            return Ok(());
        }
    }
    let mut removed = empty(directory.as_fd(), top.unwrap_or(directory.as_fd()), depth);
    // Each round removes the directories that the previous one moved to the top.
    let mut rounds = if depth == 0 { MAX_ROUNDS } else { 1 };
    loop {
        rounds -= 1;
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) if removed.is_ok() && rounds > 0 => {
                removed = empty(directory.as_fd(), directory.as_fd(), depth);
            }
            Err(error) => return removed.and(Err(error)),
            Ok(()) => return Ok(()),
        }
    }
}

/// Removes a directory's content, and returns the first error after trying all entries.
fn empty(directory: BorrowedFd<'_>, top: BorrowedFd<'_>, depth: usize) -> rustix::io::Result<()> {
    let mut result = Ok(());
    for (name, kind) in entries(directory)? {
        let removed = match kind {
            FileType::Directory | FileType::Unknown => {
                remove_entry(directory, &name, Some(top), depth + 1)
            }
            _ => unlinkat(directory, &name, AtFlags::empty()),
        };
        match removed {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => result = result.and(Err(error)),
        }
    }
    result
}

fn entries(directory: BorrowedFd<'_>) -> rustix::io::Result<Vec<(CString, FileType)>> {
    let mut entries = Vec::new();
    // A descriptor opened with O_PATH cannot be read, but can open one that can.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    for entry in Dir::new(openat(directory, c".", flags, Mode::empty())?)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            entries.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    Ok(entries)
}

/// Opens a directory inside another; `XDEV` for a mount point.
fn open_below(parent: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open_inside(parent, name, flags)
}

fn open_inside(parent: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    match openat2(parent, name, flags, Mode::empty(), ResolveFlags::NO_XDEV) {
        // Before Linux 5.6, or with a filter that does not support the call. A bind mount of the same file system is
        // then not detected.
        Err(Errno::NOSYS | Errno::PERM) => {
            let directory = openat(parent, name, flags, Mode::empty())?;
            let around = statat(parent, c"", AtFlags::EMPTY_PATH)?.st_dev;
            if fstat(&directory)?.st_dev == around {
                Ok(directory)
            } else {
                Err(Errno::XDEV)
            }
        }
        opened => opened,
    }
}

/// Gives the owner all permissions on a directory and its subdirectories, as far as allowed.
///
/// It works on descriptors, so a directory that is replaced by a link meanwhile is not followed.
fn make_writable(directory: &OwnedFd) {
    let _ = open_to_owner_only(directory);
    for below in directories(directory.as_fd()) {
        make_writable(&below);
    }
}

fn directories(parent: BorrowedFd<'_>) -> Vec<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = entries(parent).unwrap_or_default().into_iter();
    entries
        .filter(|(_, kind)| matches!(kind, FileType::Directory | FileType::Unknown))
        .filter_map(|(name, _)| open_inside(parent, &name, flags).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn links_are_removed_and_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let kept = directory.path().join("kept");
        let doomed = directory.path().join("doomed");
        fs::create_dir_all(kept.join("below")).unwrap();
        fs::create_dir_all(&doomed).unwrap();
        symlink(&kept, doomed.join("link")).unwrap();
        symlink(&kept, directory.path().join("top")).unwrap();
        remove_tree(&doomed).unwrap();
        remove_tree(&directory.path().join("top")).unwrap();
        assert!(kept.join("below").exists());
        assert!(!doomed.exists() && !directory.path().join("top").exists());
        remove_tree(&doomed).unwrap();
    }

    #[tokio::test]
    async fn removal_off_the_thread_is_complete() {
        let root = tempfile::tempdir().unwrap();
        let (kept, full) = (root.path().join("kept"), root.path().join("full"));
        fs::create_dir(&kept).unwrap();
        fs::create_dir_all(full.join("below")).unwrap();
        fs::create_dir(root.path().join("empty")).unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        symlink(&kept, root.path().join("link")).unwrap();
        for name in ["full", "empty", "file", "link", "missing"] {
            let path = root.path().join(name);
            remove_tree_off_thread(&path).await.unwrap();
            assert!(fs::symlink_metadata(&path).is_err(), "{name}");
        }
        assert!(kept.exists());
    }

    #[test]
    fn unwritable_directories_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        let outside = directory.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o500)).unwrap();
        symlink(&outside, deep.join("link")).unwrap();
        for name in ["a/b/c", "a/b", "a"] {
            let path = directory.path().join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
        }
        // Called directly: root, who may run the tests, never meets the refusal.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY;
        make_writable(&openat(CWD, directory.path().join("a"), flags, Mode::empty()).unwrap());
        for name in ["a/b/c", "a/b", "a"] {
            let mode = fs::metadata(directory.path().join(name))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o700, "{name}");
        }
        let mode = fs::metadata(&outside).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o500);
    }

    #[test]
    fn trees_deeper_than_the_file_limit_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("deep");
        fs::create_dir(&root).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut at = openat(CWD, &root, flags, Mode::empty()).unwrap();
        for _ in 0..1_200 {
            rustix::fs::mkdirat(&at, "a", Mode::RWXU).unwrap();
            at = openat(&at, "a", flags, Mode::empty()).unwrap();
        }
        remove_tree(&root).unwrap();
        assert!(!root.exists());
    }
}
