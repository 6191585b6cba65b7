use clap::{Args, ValueEnum};
use runwright::local::{Isolation, SnapshotMeans};

/// What keeps jobs apart from each other and from the working tree.
#[derive(Debug, Args)]
pub(crate) struct IsolationArgs {
    /// What keeps jobs apart from each other and from the working tree
    #[arg(long, value_enum, default_value = "snapshot", value_name = "HOW")]
    isolation: IsolationArg,
    /// How a job gets its directory from the snapshot
    #[arg(long, value_enum, default_value = "auto", value_name = "MEANS")]
    snapshot: MeansArg,
    /// Short for `--isolation none`: run in the working tree itself; one run at a time
    #[arg(long, conflicts_with_all = ["isolation", "snapshot"])]
    in_place: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum IsolationArg {
    /// All jobs begin with the working tree as it was, without ignored files
    Snapshot,
    /// Each job has a Git worktree: committed files only
    Worktree,
    /// Jobs run in the working tree itself; one run at a time
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MeansArg {
    /// What is fastest here
    Auto,
    /// Mounted; without root in a user namespace, where sudo and docker mounts of jobs do not work
    Overlay,
    /// Files that share their blocks (btrfs, XFS)
    Reflink,
    /// A copy of each file
    Copy,
}

impl IsolationArgs {
    /// Returns what was chosen.
    pub(crate) fn chosen(&self) -> Isolation {
        let means = match self.snapshot {
            MeansArg::Auto => SnapshotMeans::Auto,
            MeansArg::Overlay => SnapshotMeans::Overlay,
            MeansArg::Reflink => SnapshotMeans::Reflink,
            MeansArg::Copy => SnapshotMeans::Copy,
        };
        match self.isolation {
            _ if self.in_place => Isolation::None,
            IsolationArg::Snapshot => Isolation::Snapshot(means),
            IsolationArg::Worktree => Isolation::Worktree,
            IsolationArg::None => Isolation::None,
        }
    }

    /// Returns the options that choose the same again.
    pub(crate) fn words(&self) -> Vec<&'static str> {
        match self.chosen() {
            Isolation::Snapshot(SnapshotMeans::Auto) => vec![],
            Isolation::Snapshot(SnapshotMeans::Overlay) => vec!["--snapshot", "overlay"],
            Isolation::Snapshot(SnapshotMeans::Reflink) => vec!["--snapshot", "reflink"],
            Isolation::Snapshot(SnapshotMeans::Copy) => vec!["--snapshot", "copy"],
            Isolation::Worktree => vec!["--isolation", "worktree"],
            Isolation::None => vec!["--in-place"],
        }
    }
}
