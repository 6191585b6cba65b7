//! Unmounting.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::mount_table::points_within;
use crate::remove::remove_tree;

/// The number of attempts at a busy mount: the last process of a job may just be exiting.
const ATTEMPTS: u32 = 25;
const PAUSE: Duration = Duration::from_millis(2);
/// The largest number of mounts on one directory; a job may have added some.
const MAX_STACKED: u32 = 16;

/// Removes all mounts on `path`, and returns whether there were any.
///
/// A mount that stays busy is detached with all mounts below it: it leaves the file system at once and ends
/// with its last user.
pub(crate) fn unmount(path: &Path) -> io::Result<bool> {
    let mut found = false;
    for _ in 0..MAX_STACKED {
        if !unmount_one(path)? {
            break;
        }
        found = true;
    }
    Ok(found)
}

/// Removes a directory that only one job used, also with mounts in it.
///
/// As [`remove_tree`], but mounts of directories and of files are detached first: the mounted files are not the job's and stay unchanged.
/// The job's processes must have ended.
///
/// # Errors
///
/// As [`remove_tree`], and when this process may not unmount.
pub fn remove_job_tree(path: &Path) -> io::Result<()> {
    match remove_tree(path) {
        // A directory of another device, or a file that something is mounted on.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::CrossesDevices | io::ErrorKind::ResourceBusy
            ) =>
        {
            detach_within(path).map_err(|source| {
                let kind = source.kind();
                io::Error::new(kind, format!("{error}, and cannot be unmounted: {source}"))
            })?;
            remove_tree(path)
        }
        removed => removed,
    }
}

fn detach_within(path: &Path) -> io::Result<()> {
    for point in points_within(&fs::canonicalize(path)?)? {
        tracing::info!(point = %point.display(), "A mount of a job is detached.");
        match rustix::mount::unmount(&point, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH) {
            // It was detached together with the mount around it.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn unmount_one(path: &Path) -> io::Result<bool> {
    let mut attempts = 0;
    loop {
        let detach = if attempts < ATTEMPTS {
            UnmountFlags::empty()
        } else {
            UnmountFlags::DETACH
        };
        match rustix::mount::unmount(path, UnmountFlags::NOFOLLOW | detach) {
            Ok(()) => return Ok(true),
            // It is not a mount point, or does not exist.
            Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => return Ok(false),
            Err(Errno::BUSY) if attempts < ATTEMPTS => std::thread::sleep(PAUSE),
            Err(error) => return Err(error.into()),
        }
        attempts += 1;
    }
}
