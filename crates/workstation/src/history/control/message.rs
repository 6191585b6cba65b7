//! The messages of the control socket: a line each way.

use scheduler::PipelineSnapshot;
use scheduler::Status;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A request to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ControlRequest {
    /// Start a manual job, or a delayed job now.
    Play {
        /// The job.
        job: String,
        /// Additional variables for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        variables: Vec<PlayVariable>,
    },
    /// Run an ended job again.
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
    /// Report the status of all jobs.
    Status,
    /// A run of a newer commit of the same ref started: cancel what may be canceled for that.
    Superseded {
        /// That run.
        by: u64,
        /// Its commit.
        sha: String,
    },
}

/// A variable of a job that is played.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayVariable {
    /// Its name.
    pub key: String,
    /// Its value, which is never logged.
    pub value: String,
}

impl fmt::Debug for PlayVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlayVariable")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// The reply of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ControlReply {
    /// The request is accepted.
    Done,
    /// It cancels these jobs, since a newer run started.
    Canceling {
        /// The jobs.
        jobs: Vec<String>,
    },
    /// The request is refused.
    Refused {
        /// Why.
        message: String,
        /// What to do instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suggestion: Option<String>,
    },
    /// Its status.
    Status(RunStanding),
}

/// The status of a running run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStanding {
    /// The status of its pipeline.
    pub status: Status,
    /// Its jobs by stage, within a stage in the order of the file.
    pub jobs: Vec<JobStanding>,
}

/// The status of a job of a running run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStanding {
    /// The job.
    pub name: String,
    /// Its stage.
    pub stage: String,
    /// Its status.
    pub status: Status,
    /// Its attempt, from 1.
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
pub(super) const MAX_REQUEST: u64 = 1 << 20;

/// The longest reply that is read: a hundred thousand jobs.
pub(super) const MAX_REPLY: u64 = 64 << 20;

/// Returns the line of a message.
pub(super) fn line(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
