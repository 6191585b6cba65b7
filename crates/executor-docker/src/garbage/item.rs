use std::fmt;
use std::time::{Duration, SystemTime};

/// An image or volume that a job has used, and the verdict about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its kind.
    pub kind: ItemKind,
    /// Its name; of an image the last used one.
    pub name: String,
    /// The bytes that it does not share.
    pub bytes: u64,
    /// Its last use by a job.
    pub used: SystemTime,
    /// The verdict and its reason.
    pub verdict: Verdict,
}

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    /// An image.
    Image,
    /// A volume that outlives jobs.
    Volume,
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Image => "image",
            Self::Volume => "volume",
        })
    }
}

/// The verdict about an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is to be removed.
    Remove(RemovalReason),
    /// It was removed.
    Removed(RemovalReason),
    /// It is kept.
    Keep(KeepReason),
}

/// The reason of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalReason {
    /// No job has used it for this time.
    Unused(Duration),
    /// The budget is exceeded, and the kept items were used later.
    OverBudget,
}

/// The reason to keep an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepReason {
    /// It is within the budget.
    WithinBudget,
    /// There is no limit.
    NoLimit,
    /// It is the user's: no job brought it, or the user pulled or named it too.
    NotOurs,
    /// The user gave it another name.
    OtherName(String),
    /// The settings keep it.
    Kept,
    /// A job uses it or is about to; the name is that of the last job.
    Leased(String),
    /// A container uses it.
    InContainer,
    /// Its removal would free nothing: it shares all its bytes.
    FreesNothing,
    /// Pulls in progress may need its layers.
    PullsGoOn,
    /// The time was up.
    NoTime,
    /// The engine refused the removal, with this message.
    Refused(String),
}
