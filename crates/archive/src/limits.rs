use crate::error::ArchiveError;
use executor_core::Cancellation;

/// Limits on the content of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of entries.
    pub entries: u64,
    /// Maximum total size in bytes, unpacked.
    pub bytes: u64,
    /// Maximum ratio of unpacked to packed size, applied above [`Limits::FREE`].
    pub ratio: u64,
    /// Where symbolic links may point.
    pub links: LinkTargets,
}

/// Where the symbolic links of an archive may point.
///
/// In both cases links are created after all files, and nothing is written through one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LinkTargets {
    /// Only below the directory that the archive is unpacked into.
    #[default]
    Inside,
    /// Anywhere, as the virtual environments of Python need.
    ///
    /// Only for archives used by a job that could create such links itself.
    Anywhere,
}

impl Limits {
    /// The unpacked size in bytes up to which the ratio is not checked.
    pub const FREE: u64 = 256 << 20;
}

impl Default for Limits {
    /// Half a million entries, 64 GiB, and a ratio of 2,000, which deflate cannot reach.
    fn default() -> Self {
        Self {
            entries: 500_000,
            bytes: 64 << 30,
            ratio: 2_000,
            links: LinkTargets::Inside,
        }
    }
}

/// The use of the limits so far.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    /// Maximum bytes by the ratio.
    most: u64,
    entries: u64,
    bytes: u64,
}

impl Budget {
    /// Returns the budget for an archive of `archive` bytes.
    pub(crate) fn new(limits: &Limits, archive: u64) -> Self {
        Self {
            limits: *limits,
            most: archive.saturating_mul(limits.ratio).max(Limits::FREE),
            entries: 0,
            bytes: 0,
        }
    }

    /// Charges `count` entries.
    pub(crate) fn entries(&mut self, count: u64) -> Result<(), ArchiveError> {
        self.entries = self.entries.saturating_add(count);
        if self.entries > self.limits.entries {
            return Err(ArchiveError::Entries(self.limits.entries));
        }
        Ok(())
    }

    /// Charges `count` bytes.
    pub(crate) fn bytes(&mut self, count: u64) -> Result<(), ArchiveError> {
        self.bytes = self.bytes.saturating_add(count);
        if self.bytes > self.limits.bytes {
            return Err(ArchiveError::Bytes(self.limits.bytes));
        }
        if self.bytes > self.most {
            return Err(ArchiveError::Ratio(self.limits.ratio));
        }
        Ok(())
    }

    /// Fails if `count` more bytes would exceed a limit.
    pub(crate) fn has_room_for(&self, count: u64) -> Result<(), ArchiveError> {
        let mut then = Self { ..*self };
        then.bytes(count)
    }
}

/// The result of unpacking.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// Number of files, links and directories.
    pub entries: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
}

/// The options of unpacking one archive.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) cancellation: &'a Cancellation,
    /// Whether devices and pipes are skipped instead of refused.
    pub(crate) leaves_out_strange: bool,
}
