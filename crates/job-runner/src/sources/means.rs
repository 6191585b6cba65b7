use process::Overlays;

/// How jobs get their own directory from a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SnapshotMeans {
    /// What is fastest here: an overlay for trees of some size where one can be mounted, else shared
    /// blocks, else a copy.
    #[default]
    Auto,
    /// An overlay: what a job changes is kept apart, and nothing is copied.
    Overlay,
    /// Files that share their blocks with the snapshot until a job changes them.
    Reflink,
    /// A copy of each file.
    Copy,
}

/// How many files are worth a mount: it takes as long as copying and removing ten to thirty, to find
/// out how to mount takes as long as another thirty, and every later access costs a little more.
/// `cargo bench -p benches --bench snapshot` measures it.
const WORTH_A_MOUNT: u64 = 64;
/// How many bytes take as long as one more file.
const BYTES_PER_FILE: u64 = 64 * 1024;

/// How much there is in a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

impl Size {
    /// Returns how much there is in both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            files: self.files.saturating_add(other.files),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Returns whether mounting an overlay is faster than copying it all.
    pub(crate) fn is_worth_a_mount(self) -> bool {
        let files = u64::try_from(self.files).unwrap_or(u64::MAX);
        files.saturating_add(self.bytes / BYTES_PER_FILE) >= WORTH_A_MOUNT
    }
}

/// What is done for one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Overlay(Overlays),
    Copy(Clones),
}

/// Whether files are copied by sharing their blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clones {
    /// They are, or copying fails.
    Demanded,
    /// They are where the file system can do that.
    Wanted,
    /// They are not.
    Refused,
}

impl From<SnapshotMeans> for Clones {
    fn from(means: SnapshotMeans) -> Self {
        match means {
            SnapshotMeans::Auto | SnapshotMeans::Overlay => Self::Wanted,
            SnapshotMeans::Reflink => Self::Demanded,
            SnapshotMeans::Copy => Self::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_trees_are_not_worth_a_mount_and_large_files_are() {
        let check = |files, bytes, expect| {
            let size = Size { files, bytes };
            assert_eq!(size.is_worth_a_mount(), expect, "{size:?}");
        };
        check(0, 0, false);
        check(20, 100_000, false);
        check(64, 0, true);
        check(2, 100_000_000, true);
        check(usize::MAX, u64::MAX, true);
    }
}
