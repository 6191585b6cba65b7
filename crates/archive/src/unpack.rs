use crate::error::ArchiveError;
use crate::format::{Content, content};
use crate::limits::{Budget, Limits};
use crate::target::Target;
use crate::{tar, zip};
use executor_core::Cancellation;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What was unpacked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// How many files, links and directories.
    pub entries: u64,
    /// How many bytes its files have.
    pub bytes: u64,
}

/// How an archive is unpacked.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) cancellation: &'a Cancellation,
    /// Whether devices and pipes are passed over, and not refused.
    pub(crate) leaves_out_strange: bool,
}

/// Unpacks the archive `file` into the directory `into`, which is made if it is not there.
///
/// What kind of archive it is, its content says. Files that are there already are replaced, and so
/// are links; what is written lies below the directory, whatever the archive says and whatever
/// links are there. A zip archive is checked as a whole before anything is written, a tar archive
/// entry by entry; so after an error a part may be there, of which nothing is outside.
///
/// Permissions and times are as in the archive, but nothing runs as somebody else (setuid), and its
/// owner can open and change each directory.
///
/// # Errors
///
/// When it is no archive, is damaged, breaks one of the limits or has an entry that is refused: a
/// name that leads out of the directory, two entries in each other's way, a device, a pipe, a link
/// that leads out. When something cannot be written, and when it is cancelled.
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

/// Unpacks a tar archive that is not compressed, as it comes, into the directory `into`, which is made if
/// it is not there.
///
/// It is what an environment sends of a job's directory: devices and pipes in it are passed over. All else
/// is as [`unpack`] does it.
///
/// # Errors
///
/// As those of [`unpack`].
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
    // How much comes is not known, so there is no ratio to it.
    let budget = Budget::new(limits, u64::MAX);
    tar::unpack_plain(archive, &Target::open(into)?, budget, &job)
}
