use crate::error::ArchiveError;
use crate::format::{Format, Level, Method};
use crate::members::{Members, Skipped};
use crate::names::Dialect;
use crate::{tar, zip};
use executor_core::Cancellation;
use fail_point::fail_point;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;

/// Options for packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    /// The kind of archive.
    pub format: Format,
    /// The compression level.
    pub level: Level,
    /// Number of threads that compress.
    pub threads: NonZeroUsize,
}

impl Default for Packing {
    /// A zip archive at the default level, compressed on all processors.
    fn default() -> Self {
        Self {
            format: Format::default(),
            level: Level::default(),
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// The result of packing.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Packed {
    /// Number of files, links and directories.
    pub entries: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Size of the archive in bytes.
    pub size: u64,
    /// The paths that were left out.
    pub skipped: Vec<Skipped>,
}

/// Packs the entries at `paths` below `root` into a new archive at `file`.
///
/// A path names a file, a symbolic link, which is packed as a link, or a directory, which is packed without
/// its members. Entries are sorted by path, each once, for any number of threads. Paths of another kind,
/// missing paths, and paths behind a link are left out and listed in the result.
///
/// Only its owner can read the archive. It is complete when this returns, and removed when this fails. To
/// publish it atomically, pack under a temporary name and rename it.
///
/// # Errors
///
/// When `file` exists, when one of the files cannot be read, when the archive cannot be written, and on
/// cancellation, which is checked at least once per MiB.
pub fn pack(
    root: &Path,
    paths: &[PathBuf],
    file: &Path,
    packing: &Packing,
    cancellation: &Cancellation,
) -> Result<Packed, ArchiveError> {
    let dialect = match packing.format {
        Format::Zip | Format::ZipZstd => Dialect::Zip,
        Format::TarZstd => Dialect::Tar,
    };
    let members = Members::new(root, paths, dialect)?;
    let create = || {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(file)
    };
    let archive: io::Result<File> = fail_point!("archive::pack::create", create());
    let archive = archive.map_err(ArchiveError::io("create", file))?;
    let packed = write(members, archive, file, packing, cancellation);
    if packed.is_err() {
        // The first error is the one to return.
        let _ = fs::remove_file(file);
    }
    packed
}

fn write(
    members: Members,
    archive: File,
    file: &Path,
    packing: &Packing,
    cancellation: &Cancellation,
) -> Result<Packed, ArchiveError> {
    let method = Method::of(packing.format, packing.level);
    let output = Output {
        archive,
        path: file,
    };
    let threads = packing.threads;
    let written = match packing.format {
        Format::Zip | Format::ZipZstd => zip::write(members, output, method, threads, cancellation),
        Format::TarZstd => tar::write(members, &output, method, threads, cancellation),
    };
    fail_point!("archive::pack::write", written)
}

/// The archive file that is being written.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    pub(crate) archive: File,
    pub(crate) path: &'a Path,
}

impl Output<'_> {
    /// Returns a conversion to the error that the archive could not be written.
    pub(crate) fn failed(&self) -> impl Fn(io::Error) -> ArchiveError + use<> {
        let path = self.path.to_owned();
        move |source| ArchiveError::io("write", &path)(source)
    }
}
