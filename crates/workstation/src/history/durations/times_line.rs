//! The lines of the file of durations.

use crate::project::local_project::{DEFAULT_FILE, LocalProject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The version of the lines' shape.
pub(super) const VERSION: u32 = 1;

/// The durations of one run's successful jobs: a line of the file.
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
    /// The duration of each job's successful attempt, in milliseconds.
    pub jobs: BTreeMap<String, u64>,
}

/// Where jobs run. Durations of different places are not comparable.
///
/// A job in the working tree itself finds the results of earlier builds, while others start from a clean copy. The
/// kind of copy makes hardly any difference. Jobs of different pipeline files may have one name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JobPlace {
    /// The name of the executor.
    pub executor: String,
    /// Whether they run in the working tree itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// The pipeline file, unless it is the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl JobPlace {
    /// Returns the [`file`](Self::file) of a project.
    pub fn file_of(project: &LocalProject) -> Option<String> {
        let file = project.file();
        (file != Path::new(DEFAULT_FILE)).then(|| file.display().to_string())
    }
}

/// The first line of a compacted file: how many lines follow it then.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) v: u32,
    #[serde(rename = "tidied")]
    pub(super) lines: usize,
}

/// Any line of the file.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    Run(RunTimes),
    Head(Head),
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
