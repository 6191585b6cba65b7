//! Whether anybody has set something in a group.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// Sees each write to the files of some groups, and each change of their owners and modes.
///
/// What can be set in a group is more with each kernel and each controller, so the values are not
/// compared with a list: whatever was written, by whichever path or mount, is seen here. What the
/// kernel itself changes, as a count of events, is not, nor are reads.
#[derive(Debug)]
pub(crate) struct GroupWatch {
    queue: OwnedFd,
}

impl GroupWatch {
    /// Watches the group at `path`.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let watch = Self { queue };
        watch.add(path)?;
        Ok(watch)
    }

    /// Watches one more group.
    pub(crate) fn add(&self, path: &Path) -> io::Result<()> {
        // A file is told of when it is closed: who holds one open lives, and is seen as a member.
        let flags = WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB | WatchFlags::ONLYDIR;
        inotify::add_watch(&self.queue, path, flags)?;
        Ok(())
    }

    /// Returns whether something was set since the last call, or may have been.
    pub(crate) fn is_touched(&self) -> bool {
        let changes = ReadFlags::CLOSE_WRITE | ReadFlags::ATTRIB | ReadFlags::QUEUE_OVERFLOW;
        let mut buffer = [MaybeUninit::uninit(); 1024];
        let mut events = Reader::new(&self.queue, &mut buffer);
        let mut touched = false;
        loop {
            match events.next() {
                Ok(event) => touched |= event.events().intersects(changes),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return touched,
                Err(_) => return true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn writes_and_modes_are_seen_once_and_reads_never() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("a"), directory.path().join("b"));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&second).unwrap();
        fs::write(first.join("file"), "").unwrap();
        fs::write(second.join("file"), "").unwrap();
        let watch = GroupWatch::new(&first).unwrap();
        watch.add(&second).unwrap();
        fs::read(first.join("file")).unwrap();
        fs::create_dir(first.join("below")).unwrap();
        fs::remove_dir(first.join("below")).unwrap();
        assert!(!watch.is_touched());
        fs::write(second.join("file"), "1").unwrap();
        assert!(watch.is_touched());
        assert!(!watch.is_touched());
        fs::set_permissions(first.join("file"), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(watch.is_touched());
    }
}
