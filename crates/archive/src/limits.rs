use crate::error::ArchiveError;

/// How much an archive may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many entries.
    pub entries: u64,
    /// How many bytes, unpacked and all together.
    pub bytes: u64,
    /// How many times the size of the archive, once it is more than [`Limits::FREE`].
    pub ratio: u64,
    /// Where its symbolic links may point.
    pub links: LinkTargets,
}

/// Where the symbolic links of an archive may point.
///
/// Whatever it is, links are made when all else is written, and nothing is written through one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LinkTargets {
    /// Only to what is unpacked, or beside it in the same directory.
    #[default]
    Inside,
    /// Anywhere, as the virtual environments of Python want it.
    ///
    /// For archives that only a job will use which could make such links itself.
    Anywhere,
}

impl Limits {
    /// How much any archive may unpack to, however small it is.
    pub const FREE: u64 = 256 << 20;
}

impl Default for Limits {
    /// Half a million entries, 64 GiB, and 2,000 times its size: more than deflate can make of it.
    fn default() -> Self {
        Self {
            entries: 500_000,
            bytes: 64 << 30,
            ratio: 2_000,
            links: LinkTargets::Inside,
        }
    }
}

/// What is left of the limits.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    /// What the ratio allows.
    most: u64,
    entries: u64,
    bytes: u64,
}

impl Budget {
    /// Returns the budget of an archive of so many bytes.
    pub(crate) fn new(limits: &Limits, archive: u64) -> Self {
        Self {
            limits: *limits,
            most: archive.saturating_mul(limits.ratio).max(Limits::FREE),
            entries: 0,
            bytes: 0,
        }
    }

    /// Takes so many entries.
    pub(crate) fn entries(&mut self, count: u64) -> Result<(), ArchiveError> {
        self.entries = self.entries.saturating_add(count);
        if self.entries > self.limits.entries {
            return Err(ArchiveError::Entries(self.limits.entries));
        }
        Ok(())
    }

    /// Takes so many bytes.
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

    /// Fails when so many more bytes would be too many.
    pub(crate) fn has_room_for(&self, count: u64) -> Result<(), ArchiveError> {
        let mut then = Self { ..*self };
        then.bytes(count)
    }
}
