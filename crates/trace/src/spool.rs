//! The file with a job's complete log.

use fail_point::fail_point;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Length and checksum of a byte sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// Length in bytes.
    pub bytes: u64,
    /// CRC-32 with the IEEE polynomial, as in zip and PNG.
    pub crc32: u32,
}

impl fmt::Display for Digest {
    /// Returns the checksum in the format of the GitLab API, `crc32:0a1b2c3d`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "crc32:{:08x}", self.crc32)
    }
}

/// Computes a [`Digest`] piece by piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digester {
    hasher: crc32fast::Hasher,
    bytes: u64,
}

impl Digester {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest {
            bytes: self.bytes,
            crc32: self.hasher.clone().finalize(),
        }
    }
}

/// The error of a spool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// The file cannot be created, for example because it exists or its directory does not.
    #[error("create log spool {}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file system has no space left for the log.
    #[error("no space left for log spool {}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Writing failed for another reason.
    #[error("write log spool {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The log cannot be read.
    #[error("read log spool {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// An append-only file with the log of one job.
///
/// Only its owner may read it. It can be read while it is written, through [`reader`](Self::reader). It uses
/// constant memory and does not buffer.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    file: File,
    digester: Digester,
    written: Arc<AtomicU64>,
}

impl Spool {
    /// Creates the file, with mode 0600 where the platform has modes.
    ///
    /// # Errors
    ///
    /// [`SpoolError::Create`] if the file exists or cannot be created.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, SpoolError> {
        let path = path.into();
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match fail_point!("trace::spool::create", options.open(&path)) {
            Ok(file) => Ok(Self {
                path,
                file,
                digester: Digester::default(),
                written: Arc::default(),
            }),
            Err(source) => Err(SpoolError::Create { path, source }),
        }
    }

    /// Creates the file with the first `bytes` of the log in `earlier`, to continue that log.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create) and [`append`](Self::append), and [`SpoolError::Read`] if the earlier log cannot be read
    /// or is shorter. The file is then removed.
    pub fn resume(
        path: impl Into<PathBuf>,
        earlier: &Path,
        bytes: u64,
    ) -> Result<Self, SpoolError> {
        let mut spool = Self::create(path)?;
        let copied = spool.copy(earlier, bytes);
        if copied.is_err() {
            // The first error is the one to report.
            let _ = std::fs::remove_file(&spool.path);
        }
        copied.map(|()| spool)
    }

    /// Opens an existing log to continue it after its first `bytes`; the rest is cut off.
    ///
    /// # Errors
    ///
    /// [`SpoolError::Read`] if it cannot be opened or is shorter, [`SpoolError::Write`] if it cannot be cut.
    pub fn reopen(path: impl Into<PathBuf>, bytes: u64) -> Result<Self, SpoolError> {
        let path = path.into();
        let opened = OpenOptions::new().append(true).open(&path);
        let mut spool = match opened {
            Ok(file) => Self {
                path,
                file,
                digester: Digester::default(),
                written: Arc::new(AtomicU64::new(bytes)),
            },
            Err(source) => return Err(SpoolError::Read { path, source }),
        };
        let mut digester = Digester::default();
        read_first(&spool.path, bytes, |piece| {
            digester.update(piece);
            Ok(())
        })?;
        spool.digester = digester;
        let cut = spool.file.set_len(bytes);
        cut.map_err(|source| spool.write_error(source))?;
        Ok(spool)
    }

    fn copy(&mut self, earlier: &Path, bytes: u64) -> Result<(), SpoolError> {
        read_first(earlier, bytes, |piece| self.append(piece))
    }

    /// Appends bytes; they can be read as soon as this returns.
    ///
    /// # Errors
    ///
    /// [`SpoolError::Full`] or [`SpoolError::Write`]. Bytes written before the error count.
    pub fn append(&mut self, mut bytes: &[u8]) -> Result<(), SpoolError> {
        while !bytes.is_empty() {
            match fail_point!("trace::spool::append", self.file.write(bytes)) {
                Ok(0) => return Err(self.write_error(ErrorKind::WriteZero.into())),
                Ok(count) => {
                    self.digester.update(&bytes[..count]);
                    self.written.fetch_add(count as u64, Ordering::Release);
                    bytes = &bytes[count..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.write_error(error)),
            }
        }
        Ok(())
    }

    /// Returns length and checksum of the file.
    pub fn digest(&self) -> Digest {
        self.digester.digest()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file for reading.
    ///
    /// # Errors
    ///
    /// [`SpoolError::Read`] if the file cannot be opened, for example because it was removed.
    pub fn reader(&self) -> Result<SpoolReader, SpoolError> {
        match File::open(&self.path) {
            Ok(file) => Ok(SpoolReader {
                path: self.path.clone(),
                file,
                written: Arc::clone(&self.written),
            }),
            Err(source) => Err(SpoolError::Read {
                path: self.path.clone(),
                source,
            }),
        }
    }

    /// Returns a spool that accepts nothing.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn on_full_disk() -> Self {
        let path = PathBuf::from("/dev/full");
        let file = OpenOptions::new().append(true).open(&path);
        Self {
            path,
            file: file.expect("the device is there"),
            digester: Digester::default(),
            written: Arc::default(),
        }
    }

    fn write_error(&self, source: io::Error) -> SpoolError {
        let path = self.path.clone();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                SpoolError::Full { path, source }
            }
            _ => SpoolError::Write { path, source },
        }
    }
}

/// Reads a [`Spool`] by offset, also while it is written.
#[derive(Debug)]
pub struct SpoolReader {
    path: PathBuf,
    file: File,
    written: Arc<AtomicU64>,
}

impl SpoolReader {
    /// Returns the number of bytes that can be read now.
    pub fn available(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Reads from `offset` on into `buffer` and returns the number of bytes; 0 means that there are no more yet.
    ///
    /// # Errors
    ///
    /// [`SpoolError::Read`].
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, SpoolError> {
        loop {
            match read_at(&self.file, buffer, offset) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => {
                    return other.map_err(|source| SpoolError::Read {
                        path: self.path.clone(),
                        source,
                    });
                }
            }
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Reads the first `bytes` of a log.
fn read_first(
    log: &Path,
    mut bytes: u64,
    mut take: impl FnMut(&[u8]) -> Result<(), SpoolError>,
) -> Result<(), SpoolError> {
    let failed = |source| SpoolError::Read {
        path: log.to_owned(),
        source,
    };
    let mut file = File::open(log).map_err(failed)?;
    let mut buffer = vec![0; 64 * 1024];
    while bytes > 0 {
        let most = usize::try_from(bytes).map_or(buffer.len(), |it| it.min(buffer.len()));
        match file.read(&mut buffer[..most]) {
            Ok(0) => return Err(failed(ErrorKind::UnexpectedEof.into())),
            Ok(count) => {
                take(&buffer[..count])?;
                bytes -= count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn full_disk_has_its_own_error() {
        let mut spool = Spool::on_full_disk();
        let error = spool.append(b"text").expect_err("the disk is full");
        assert!(matches!(error, SpoolError::Full { .. }), "{error:?}");
        assert_eq!(spool.digest(), Digest::default());
    }

    #[test]
    fn reopened_log_goes_on_after_the_part_that_counts() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let mut spool = Spool::create(&path).expect("created");
        spool.append(b"one\ntwo\nthr").expect("written");
        let error = Spool::reopen(&path, 12).expect_err("the log is shorter");
        assert!(matches!(error, SpoolError::Read { .. }), "{error:?}");
        let mut spool = Spool::reopen(&path, 8).expect("reopened");
        spool.append(b"three\n").expect("written");
        let text = std::fs::read(&path).expect("read");
        assert_eq!(text, b"one\ntwo\nthree\n");
        let digest = spool.digest();
        assert_eq!((digest.bytes, digest.crc32), (14, crc32fast::hash(&text)));
    }

    #[test]
    fn checksum_of_pieces_is_that_of_the_whole() {
        let text: Vec<u8> = (0..10_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut digester = Digester::default();
        for piece in text.chunks(77) {
            digester.update(piece);
        }
        let digest = digester.digest();
        assert_eq!(digest.crc32, crc32fast::hash(&text));
        assert_eq!(digest.bytes, 40_000);
        let known = Digest {
            bytes: 9,
            crc32: crc32fast::hash(b"123456789"),
        };
        assert_eq!(known.to_string(), "crc32:cbf43926");
    }
}
