//! Taking away what is mounted on a directory.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

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
