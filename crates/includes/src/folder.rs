//! A directory of the project. Its content is not trusted, so no link is followed.

use fail_point::fail_point;
use process::{FileLock, LockKind};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

/// What a name refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file with this content.
    Bytes(Vec<u8>),
    /// Nothing.
    Nothing,
    /// A link, a directory, a pipe.
    NoFile,
    /// A file longer than the limit.
    TooLong,
}

impl Folder {
    /// Opens a directory. Links in the path are followed, since the user named it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens a directory below this one, if it exists.
    pub(crate) fn below(&self, name: &str) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(folder) => Ok(Some(Self(folder))),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("`{name}` is not a directory of the project itself"),
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a directory below this one, and creates it if necessary.
    pub(crate) fn create_below(&self, name: &str) -> io::Result<Self> {
        let create = || match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(io::Error::from(error)),
        };
        fail_point!("includes::vendored::make_dir", create())?;
        let created = self.below(name)?;
        created.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Reads a file of at most `limit` bytes.
    pub(crate) fn read(&self, name: &str, limit: u64) -> io::Result<Found> {
        // `NONBLOCK`: opening a pipe does not wait for its writer.
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

    /// Writes a file as `temp`, and renames it to `name` in `target` when it is complete.
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
            // The first error is returned; the next writer removes the temporary file.
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
            // A lock file that survives a power failure is useless without its texts.
            file.sync_all()
        };
        fail_point!("includes::vendored::write_temp", write())
    }

    /// Removes a file, if it exists.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        let remove = || match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(io::Error::from(error)),
        };
        fail_point!("includes::vendored::remove", remove())
    }

    /// Returns the names of the entries that are UTF-8, sorted.
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

    /// Locks the directory until the guard is dropped; `None` if another process holds the lock.
    pub(crate) fn try_lock(&self) -> io::Result<Option<FileLock>> {
        FileLock::if_free(File::from(self.0.try_clone()?), LockKind::Exclusive)
    }
}
