//! The lines of the file.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the lines' shape.
pub(super) const VERSION: u32 = 1;

/// How long the jobs of one run took that succeeded in it: a line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTimes {
    v: u32,
    /// The run's number in its project.
    pub run: u64,
    /// When it ended.
    pub at: Timestamp,
    /// Where its jobs ran.
    #[serde(flatten)]
    pub place: JobPlace,
    /// The time of each job, in milliseconds: that of the attempt that succeeded.
    pub jobs: BTreeMap<String, u64>,
}

/// Where jobs run. Times of one place say nothing about another one.
///
/// A job that runs in the working tree itself finds what the run before has built there, and the others
/// begin with nothing; so these are two places. How an own directory is made costs next to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JobPlace {
    /// The name of the executor.
    pub executor: String,
    /// Whether they run in the working tree itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
}

/// The first line of a file that was tidied up: how many lines it had then, this one not counted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Tidied {
    pub(super) v: u32,
    pub(super) tidied: usize,
}

/// What a line of the file may be.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    Run(RunTimes),
    Tidied(Tidied),
}

impl RunTimes {
    /// Returns the times of a run that ends now.
    pub fn new(run: u64, place: JobPlace, jobs: BTreeMap<String, u64>) -> Self {
        Self {
            v: VERSION,
            run,
            at: Timestamp::now(),
            place,
            jobs,
        }
    }

    pub(super) fn has_known_shape(&self) -> bool {
        self.v == VERSION
    }

    /// Returns the line, with its end.
    pub(super) fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}
