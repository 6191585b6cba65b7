//! Taking away what is mounted on a directory.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::mount_table::points_within;
use crate::remove::remove_tree;

/// How often a busy mount is tried again: the last process of a job may just be leaving it.
const TRIES: u32 = 25;
const PAUSE: Duration = Duration::from_millis(2);
/// A job may have mounted more on the same directory.
const DEEPEST_STACK: u32 = 16;

/// Unmounts all there is on `path`, and returns whether there was anything.
///
/// What stays busy is detached with all that is mounted below it: it leaves the file system at once
/// and ends with its last user.
pub(crate) fn unmount(path: &Path) -> io::Result<bool> {
    let mut found = false;
    for _ in 0..DEEPEST_STACK {
        if !unmount_one(path)? {
            break;
        }
        found = true;
    }
    Ok(found)
}

/// Removes a directory that was a job's alone, with what the job has left mounted in it.
///
/// As [`remove_tree`], but where something is mounted, that is detached first: what it shows is
/// somebody else's and stays as it is, and the next job can have the place. The job's processes must
/// have ended.
///
/// # Errors
///
/// As [`remove_tree`], also where this process may not unmount.
pub fn remove_job_tree(path: &Path) -> io::Result<()> {
    match remove_tree(path) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            detach_within(path).map_err(|source| {
                let kind = source.kind();
                io::Error::new(kind, format!("{error}, and stays: {source}"))
            })?;
            remove_tree(path)
        }
        removed => removed,
    }
}

fn detach_within(path: &Path) -> io::Result<()> {
    for point in points_within(&fs::canonicalize(path)?)? {
        tracing::info!(point = %point.display(), "What a job has left mounted is detached.");
        match rustix::mount::unmount(&point, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH) {
            // It went with the one it was in.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn unmount_one(path: &Path) -> io::Result<bool> {
    let mut tries = 0;
    loop {
        let detach = if tries < TRIES {
            UnmountFlags::empty()
        } else {
            UnmountFlags::DETACH
        };
        match rustix::mount::unmount(path, UnmountFlags::NOFOLLOW | detach) {
            Ok(()) => return Ok(true),
            // Nothing is mounted there, or there is nothing at all.
            Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => return Ok(false),
            Err(Errno::BUSY) if tries < TRIES => std::thread::sleep(PAUSE),
            Err(error) => return Err(error.into()),
        }
        tries += 1;
    }
}
