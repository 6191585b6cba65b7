use process::Overlays;

/// The way in which jobs get a directory of their own from a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SnapshotMethod {
    /// The fastest on this host: an overlay for large trees where one can be mounted, otherwise shared
    /// blocks, otherwise a copy.
    #[default]
    Auto,
    /// An overlay: nothing is copied, and the job's changes go to a layer of their own.
    Overlay,
    /// Files that share their blocks with the snapshot until a job changes them.
    Reflink,
    /// A copy of each file.
    Copy,
}

/// The smallest number of files for which a mount is faster than copies.
///
/// A mount takes as long as copying and removing ten to thirty files, the probe for overlays as long as
/// another thirty, and each later access costs a little more. `cargo bench -p benches --bench snapshot`
/// measures it.
const MIN_FILES_FOR_MOUNT: u64 = 64;
/// The number of bytes whose copy takes as long as one more file.
const BYTES_PER_FILE: u64 = 64 * 1024;

/// The size of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

impl Size {
    /// Returns the sum of both sizes.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            files: self.files.saturating_add(other.files),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Returns whether mounting an overlay is faster than copying.
    pub(crate) fn is_worth_a_mount(self) -> bool {
        let files = u64::try_from(self.files).unwrap_or(u64::MAX);
        files.saturating_add(self.bytes / BYTES_PER_FILE) >= MIN_FILES_FOR_MOUNT
    }
}

/// The method that is used for one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChosenMethod {
    Overlay(Overlays),
    Copy(BlockSharing),
}

/// Whether copies share blocks with the originals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockSharing {
    /// They share blocks, or copying fails.
    Required,
    /// They share blocks where the file system supports it.
    Preferred,
    /// They do not.
    Disabled,
}

impl From<SnapshotMethod> for BlockSharing {
    fn from(method: SnapshotMethod) -> Self {
        match method {
            SnapshotMethod::Auto | SnapshotMethod::Overlay => Self::Preferred,
            SnapshotMethod::Reflink => Self::Required,
            SnapshotMethod::Copy => Self::Disabled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_trees_are_worth_a_mount() {
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
