use super::{heading, word_of};
use clap::{Args, ValueEnum};
use workstation::{Isolation, LayeredValue, SnapshotMethod};

/// How jobs are separated from each other and from the working tree.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::PLACE)]
pub(crate) struct IsolationArgs {
    /// How jobs are separated from each other and from the working tree; default: snapshot, or
    /// worktree with --dialect bitrab
    #[arg(long, hide_short_help = true, value_enum, value_name = "HOW")]
    isolation: Option<IsolationArg>,
    /// How a job gets its directory from the snapshot; default: auto
    #[arg(long, hide_short_help = true, value_enum, value_name = "MEANS")]
    snapshot: Option<MeansArg>,
    /// Short for `--isolation none`: run in the working tree itself; one run at a time
    #[arg(long, conflicts_with_all = ["isolation", "snapshot"])]
    in_place: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum IsolationArg {
    /// All jobs start with a copy of the working tree without ignored files
    Snapshot,
    /// Each job has a Git worktree: only committed files
    Worktree,
    /// Jobs run in the working tree itself; one run at a time
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MeansArg {
    /// The fastest available
    Auto,
    /// An overlay mount; without root in a user namespace, where sudo and Docker mounts of jobs do not work
    Overlay,
    /// Files that share their blocks (btrfs, XFS)
    Reflink,
    /// A copy of each file
    Copy,
}

impl IsolationArgs {
    /// Sets the option of a setting.
    pub(super) fn fill(&mut self, setting: &LayeredValue) {
        if setting.key.name == "isolation" {
            self.isolation = word_of(setting);
        }
    }

    /// Returns the selected isolation, a snapshot by default.
    pub(crate) fn chosen(&self) -> Isolation {
        self.explicit().unwrap_or_default()
    }

    /// Returns the selected isolation, if one was.
    pub(crate) fn explicit(&self) -> Option<Isolation> {
        let means = match self.snapshot {
            None | Some(MeansArg::Auto) => SnapshotMethod::Auto,
            Some(MeansArg::Overlay) => SnapshotMethod::Overlay,
            Some(MeansArg::Reflink) => SnapshotMethod::Reflink,
            Some(MeansArg::Copy) => SnapshotMethod::Copy,
        };
        match self.isolation {
            _ if self.in_place => Some(Isolation::None),
            Some(IsolationArg::Snapshot) => Some(Isolation::Snapshot(means)),
            Some(IsolationArg::Worktree) => Some(Isolation::Worktree),
            Some(IsolationArg::None) => Some(Isolation::None),
            None => self.snapshot.map(|_| Isolation::Snapshot(means)),
        }
    }

    /// Returns the options that choose the same again.
    pub(crate) fn words(&self) -> Vec<&'static str> {
        let Some(explicit) = self.explicit() else {
            return vec![];
        };
        match explicit {
            Isolation::Snapshot(SnapshotMethod::Auto) => vec!["--isolation", "snapshot"],
            Isolation::Snapshot(SnapshotMethod::Overlay) => vec!["--snapshot", "overlay"],
            Isolation::Snapshot(SnapshotMethod::Reflink) => vec!["--snapshot", "reflink"],
            Isolation::Snapshot(SnapshotMethod::Copy) => vec!["--snapshot", "copy"],
            Isolation::Worktree => vec!["--isolation", "worktree"],
            Isolation::None => vec!["--in-place"],
        }
    }
}
