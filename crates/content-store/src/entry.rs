use crate::digest::Digest;
use std::path::PathBuf;

/// One member of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The relative path.
    pub path: PathBuf,
    /// The kind, with its attributes.
    pub kind: EntryKind,
    /// The modification time.
    pub modified: ModifiedAt,
}

/// The kind of an entry, with the attributes of that kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Directory {
        /// Its permissions, without setuid, setgid and sticky bits.
        mode: u32,
    },
    /// A file.
    File {
        /// Its permissions, without setuid, setgid and sticky bits.
        mode: u32,
        /// Its size in bytes.
        size: u64,
        /// The digest of its content.
        content: Digest,
    },
    /// A symbolic link, whose target may be anywhere.
    Link {
        /// Its target, as written in the link.
        target: PathBuf,
    },
}

/// A time as file systems count it, from 1970-01-01 in UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModifiedAt {
    /// Whole seconds.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

/// The permission bits that a tree can hold.
pub(crate) const RIGHTS: u32 = 0o777;
