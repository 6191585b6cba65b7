//! What is said over the socket of a run: a line each way.

use scheduler::PipelineSnapshot;
use scheduler::Status;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a run is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ControlRequest {
    /// Start a manual job, or a delayed one before its time.
    Play {
        /// The job.
        job: String,
        /// Variables for it, besides its own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        variables: Vec<PlayVariable>,
    },
    /// Run a job again that has ended.
    Retry {
        /// The job.
        job: String,
    },
    /// Cancel one job.
    CancelJob {
        /// The job.
        job: String,
    },
    /// Cancel the pipeline: `after_script` and cleanup still run.
    Cancel,
    /// End everything at once.
    Abort,
    /// Say where the jobs stand.
    Status,
    /// There is a run of a newer commit of the same ref: what may be canceled for that is.
    Superseded {
        /// That run.
        by: u64,
        /// Its commit.
        sha: String,
    },
}

/// A variable of a job that is started by hand.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayVariable {
    /// Its name.
    pub key: String,
    /// Its value, which no log shows.
    pub value: String,
}

impl fmt::Debug for PlayVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlayVariable")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// What a run answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ControlReply {
    /// It does what it was told.
    Done,
    /// It cancels these jobs, as there is a newer run.
    Canceling {
        /// The jobs.
        jobs: Vec<String>,
    },
    /// It does not.
    Refused {
        /// Why.
        message: String,
        /// What there is instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suggestion: Option<String>,
    },
    /// Where it stands.
    Status(RunStanding),
}

/// Where a living run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStanding {
    /// The status of its pipeline.
    pub status: Status,
    /// Its jobs by stage, within a stage in the order of the file.
    pub jobs: Vec<JobStanding>,
}

/// Where a job of a living run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStanding {
    /// The job.
    pub name: String,
    /// Its stage.
    pub stage: String,
    /// Its status.
    pub status: Status,
    /// The attempt it is at, from 1.
    pub attempt: u32,
}

impl From<PipelineSnapshot> for RunStanding {
    fn from(snapshot: PipelineSnapshot) -> Self {
        let jobs = snapshot.jobs.into_iter();
        let jobs = jobs.map(|job| JobStanding {
            name: job.name.to_string(),
            stage: job.stage.to_string(),
            status: job.status,
            attempt: job.attempt,
        });
        Self {
            status: snapshot.status,
            jobs: jobs.collect(),
        }
    }
}

/// The longest request that is read.
pub(super) const LONGEST_REQUEST: u64 = 1 << 20;

/// The longest answer that is read: a hundred thousand jobs.
pub(super) const LONGEST_REPLY: u64 = 64 << 20;

/// Returns a message as the line that it is sent as.
pub(super) fn line(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
