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

/// How files are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    /// The kind of archive.
    pub format: Format,
    /// How much time it may take to make it small.
    pub level: Level,
    /// How many threads compress.
    pub threads: NonZeroUsize,
}

impl Default for Packing {
    /// A zip archive of the usual level, by all processors.
    fn default() -> Self {
        Self {
            format: Format::default(),
            level: Level::default(),
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// What is in an archive that was made.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Packed {
    /// How many files, links and directories.
    pub entries: u64,
    /// How many bytes its files have.
    pub bytes: u64,
    /// How many bytes the archive has.
    pub size: u64,
    /// The paths that are not in it.
    pub skipped: Vec<Skipped>,
}

/// Packs what is at `paths` below `root` into an archive that is made at `file`.
///
/// A path is a file, a symbolic link, which is packed as one, or a directory, which is packed
/// without what is in it. Entries are in the order of their paths, each once, whatever the number
/// of threads. What is something else, is gone, or lies behind a link is left out and told.
///
/// Nobody but its owner may read the archive. It is whole when this returns, and gone when this
/// fails; who wants it to appear whole under its name gives another name and renames it.
///
/// # Errors
///
/// When there is a file at `file`, when one of the files cannot be read, when the archive cannot be
/// written, and when it is cancelled, which is looked at at least at each MiB.
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
        // The first error is the one to tell.
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

/// Where the archive is written.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    pub(crate) archive: File,
    pub(crate) path: &'a Path,
}

impl Output<'_> {
    /// Returns what says that the archive could not be written.
    pub(crate) fn failed(&self) -> impl Fn(io::Error) -> ArchiveError + use<> {
        let path = self.path.to_owned();
        move |source| ArchiveError::io("write", &path)(source)
    }
}
