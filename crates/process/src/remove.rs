//! Removing directories that jobs have written to.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags, open, openat, rmdir, unlink};
use rustix::io::Errno;

use crate::private_dir::open_to_owner_only;

/// Removes a file, a link, or a directory with all it holds.
///
/// Never follows a link. Directories without write permission are made writable
/// first, since jobs leave such behind. What is not there is removed already.
///
/// # Errors
///
/// Fails if something cannot be removed, usually because it belongs to another user.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match remove(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
            make_writable(&open(path, flags, Mode::empty())?);
            remove(path)
        }
        result => result,
    }
}

/// As [`remove_tree`], where it holds up nobody else: on a thread for blocking work.
///
/// What takes the kernel a call or two, as an empty directory does, is removed at once: to wake a
/// thread for it would cost many times as much.
///
/// # Errors
///
/// As [`remove_tree`], and when the runtime shuts down.
pub async fn remove_tree_off_thread(path: &Path) -> io::Result<()> {
    if remove_trifle(path) {
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

/// Removes a file, a link or an empty directory, and returns whether nothing is there any more.
fn remove_trifle(path: &Path) -> bool {
    let removed = match rmdir(path) {
        Err(Errno::NOTDIR) => unlink(path),
        removed => removed,
    };
    matches!(removed, Ok(()) | Err(Errno::NOENT))
}

fn remove(path: &Path) -> io::Result<()> {
    let result = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Gives the owner all rights on a directory and those below, as far as allowed.
///
/// Works on descriptors, so a directory that is exchanged for a link meanwhile
/// leads nowhere.
fn make_writable(directory: &OwnedFd) {
    let _ = open_to_owner_only(directory);
    for below in directories(directory.as_fd()) {
        make_writable(&below);
    }
}

fn directories(parent: BorrowedFd<'_>) -> Vec<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(readable) = openat(parent, c".", flags, Mode::empty()) else {
        return Vec::new();
    };
    let Ok(entries) = Dir::new(readable) else {
        return Vec::new();
    };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    entries
        .flatten()
        .filter(|entry| matches!(entry.file_type(), FileType::Directory | FileType::Unknown))
        .filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
        .filter_map(|entry| openat(parent, entry.file_name(), flags, Mode::empty()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
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
    async fn off_the_thread_as_much_is_removed() {
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
    fn rights_are_given_back_all_the_way_down() {
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
        make_writable(&open(directory.path().join("a"), flags, Mode::empty()).unwrap());
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
}
