//! A directory of the project, whose content a stranger may have written: no link is followed.

use fail_point::fail_point;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

/// What is found under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file with this in it.
    Bytes(Vec<u8>),
    /// Nothing.
    Nothing,
    /// A link, a directory, a pipe.
    NoFile,
    /// A file of more bytes than are read.
    TooLong,
}

impl Folder {
    /// Opens a directory wherever it is; the links to it are the user's.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens a directory in it; nothing when there is none.
    pub(crate) fn below(&self, name: &str) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(folder) => Ok(Some(Self(folder))),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("`{name}` is no directory of the project's own"),
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a directory in it, which is made if it is not there.
    pub(crate) fn make_below(&self, name: &str) -> io::Result<Self> {
        let create = || match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(io::Error::from(error)),
        };
        fail_point!("includes::vendored::make_dir", create())?;
        let made = self.below(name)?;
        made.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Reads a file in it of at most so many bytes.
    pub(crate) fn read(&self, name: &str, limit: u64) -> io::Result<Found> {
        // Without waiting for somebody who writes to a pipe.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file: File = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => file.into(),
            Err(Errno::NOENT) => return Ok(Found::Nothing),
            Err(Errno::LOOP | Errno::NXIO) => return Ok(Found::NoFile),
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Found::NoFile);
        }
        if metadata.len() > limit {
            return Ok(Found::TooLong);
        }
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes)?;
        let is_whole = bytes.len() as u64 <= limit;
        Ok(if is_whole {
            Found::Bytes(bytes)
        } else {
            Found::TooLong
        })
    }

    /// Writes a file in it, under the name `temp` until it is whole; then it is `target`'s `name`.
    pub(crate) fn write(
        &self,
        temp: &str,
        bytes: &[u8],
        target: &Self,
        name: &str,
    ) -> io::Result<()> {
        let written = self.fill(temp, bytes).and_then(|()| {
            let rename = || rustix::fs::renameat(&self.0, temp, &target.0, name);
            fail_point!(
                "includes::vendored::publish",
                rename().map_err(io::Error::from)
            )
        });
        if written.is_err() {
            // The first error is the one to tell; the next writer removes what stays now.
            let _ = rustix::fs::unlinkat(&self.0, temp, AtFlags::empty());
        }
        written
    }

    fn fill(&self, temp: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let create = || rustix::fs::openat(&self.0, temp, flags, mode).map_err(io::Error::from);
        let mut file = File::from(fail_point!("includes::vendored::create_temp", create())?);
        let mut write = || {
            file.write_all(bytes)?;
            // A lock file that outlives a power cut is nothing without its texts.
            file.sync_all()
        };
        fail_point!("includes::vendored::write_temp", write())
    }

    /// Removes a file in it, if it is there.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        let remove = || match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(io::Error::from(error)),
        };
        fail_point!("includes::vendored::remove", remove())
    }

    /// Returns the names in it that are text, in order.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            if let Ok(name) = entry?.file_name().to_str()
                && name != "."
                && name != ".."
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Keeps all others from doing the same until the guard is dropped; nothing when another does it.
    pub(crate) fn try_lock(&self) -> io::Result<Option<FolderLock<'_>>> {
        match rustix::fs::flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(FolderLock(self))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The right to write in a folder.
#[derive(Debug)]
pub(crate) struct FolderLock<'a>(&'a Folder);

impl Drop for FolderLock<'_> {
    fn drop(&mut self) {
        // Closing would not do: a process that is being started has the directory open too, until
        // it becomes another program.
        let _ = rustix::fs::flock(&self.0.0, FlockOperation::Unlock);
    }
}
