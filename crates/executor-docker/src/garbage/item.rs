use std::fmt;
use std::time::{Duration, SystemTime};

/// A thing in an engine that a job has used, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// Its name; of an image the one that jobs used last.
    pub name: String,
    /// How many bytes nothing else has a part in.
    pub bytes: u64,
    /// When a job used it last.
    pub used: SystemTime,
    /// What becomes of it, and why.
    pub verdict: Verdict,
}

/// What a thing is.
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

/// What becomes of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It goes.
    Remove(RemovalReason),
    /// It is gone.
    Removed(RemovalReason),
    /// It stays.
    Keep(KeepReason),
}

/// Why a thing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalReason {
    /// No job has used it for so long.
    Unused(Duration),
    /// There is no room for it, and what is left was used after it.
    OverBudget,
}

/// Why a thing stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepReason {
    /// There is room for it.
    WithinBudget,
    /// There is no limit of any kind.
    NoLimit,
    /// Somebody else than a job brought it, made it, or wants it.
    NotOurs,
    /// It has another name, which somebody else gave it.
    OtherName(String),
    /// The settings say that it stays.
    Kept,
    /// A job has it, or is about to; the name is that of the last one.
    Leased(String),
    /// A container has it.
    InContainer,
    /// To remove it would free nothing: others have all that it has.
    FreesNothing,
    /// Images are pulled, which may want what it has.
    PullsGoOn,
    /// There was no time left.
    NoTime,
    /// The engine does not remove it; its words.
    Refused(String),
}
