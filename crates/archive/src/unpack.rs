use crate::error::ArchiveError;
use crate::format::{Content, content};
use crate::limits::{Budget, Job, Limits, Unpacked};
use crate::target::Target;
use crate::{tar, zip};
use executor_core::Cancellation;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Unpacks the archive `file` into the directory `into`, which is created if it is missing.
///
/// The kind of archive is detected from its content. Existing files and links are replaced. Nothing is
/// written outside the directory, whatever the archive names and whatever links exist. All entries of a
/// zip archive are checked before anything is written, those of a tar archive one by one. So an error can
/// leave a part of the archive, but only below the directory.
///
/// Permissions and times are those of the archive, but setuid and setgid bits are dropped, and the owner
/// of a directory can always open and change it.
///
/// # Errors
///
/// When the file is not an archive, is damaged, exceeds a limit or has an entry that is refused: a name
/// that leads out of the directory, two conflicting entries, a device, a pipe, a link that leads out. Also
/// when something cannot be written, and on cancellation.
pub fn unpack(
    file: &Path,
    into: &Path,
    limits: &Limits,
    cancellation: &Cancellation,
) -> Result<Unpacked, ArchiveError> {
    let opened = || {
        let archive = File::open(file)?;
        let metadata = archive.metadata()?;
        let content = content(&archive)?;
        Ok((archive, metadata.len(), content))
    };
    let (archive, size, content) = opened().map_err(ArchiveError::io("read", file))?;
    let job = Job {
        limits,
        cancellation,
        leaves_out_strange: false,
    };
    let budget = Budget::new(limits, size);
    match content.ok_or(ArchiveError::Unknown)? {
        Content::Zip => zip::unpack(&archive, size, into, budget, &job),
        Content::TarZstd => {
            use std::io::Seek;
            let mut archive = archive;
            archive.rewind().map_err(ArchiveError::io("read", file))?;
            tar::unpack(&archive, &Target::open(into)?, budget, &job)
        }
    }
}

/// Unpacks a stream of uncompressed tar into the directory `into`, which is created if it is missing.
///
/// A prepared environment sends a job's directory this way, so devices and pipes are skipped. Otherwise
/// this works like [`unpack`].
///
/// # Errors
///
/// As for [`unpack`].
pub fn unpack_tar(
    archive: impl Read,
    into: &Path,
    limits: &Limits,
    cancellation: &Cancellation,
) -> Result<Unpacked, ArchiveError> {
    let job = Job {
        limits,
        cancellation,
        leaves_out_strange: true,
    };
    // The size of a stream is unknown, so the ratio is not limited.
    let budget = Budget::new(limits, u64::MAX);
    tar::unpack_plain(archive, &Target::open(into)?, budget, &job)
}
