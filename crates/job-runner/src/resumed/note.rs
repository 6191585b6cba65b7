use executor_core::ability::ResumeHandle;
use executor_core::{JobId, JobSlot, StreamKind, TraceStream};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is noted of a running job, so that another process can go on with it.
///
/// The log up to where it is noted and the handle belong together: all that the environment has told by
/// then is in that part of the log, and nothing else of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobNote {
    /// The job.
    pub job: JobId,
    /// Which attempt of it, from 1.
    pub attempt: u32,
    /// Where its environment is, and how far that has told its log.
    pub handle: ResumeHandle,
    /// The job's log.
    pub(crate) log: PathBuf,
    /// How much of that counts.
    pub(crate) log_bytes: u64,
    /// The streams whose last line goes on.
    pub(crate) open: Vec<Stream>,
    /// The stages that the log has headings of.
    pub(crate) headed: Vec<String>,
    /// The numbers of the job; its directories have them in their names.
    pub(crate) slot: Slot,
    /// The directory with its builds on this host.
    pub(crate) builds: Option<String>,
}

/// A stream of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stream {
    source: u8,
    is_error: bool,
}

/// The numbers of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slot {
    concurrent: u32,
    in_project: u32,
}

impl From<TraceStream> for Stream {
    fn from(stream: TraceStream) -> Self {
        Self {
            source: stream.source,
            is_error: stream.kind == StreamKind::Stderr,
        }
    }
}

impl From<Stream> for TraceStream {
    fn from(stream: Stream) -> Self {
        Self {
            source: stream.source,
            kind: if stream.is_error {
                StreamKind::Stderr
            } else {
                StreamKind::Stdout
            },
        }
    }
}

impl From<JobSlot> for Slot {
    fn from(slot: JobSlot) -> Self {
        Self {
            concurrent: slot.concurrent_id,
            in_project: slot.concurrent_project_id,
        }
    }
}

impl From<Slot> for JobSlot {
    fn from(slot: Slot) -> Self {
        Self {
            concurrent_id: slot.concurrent,
            concurrent_project_id: slot.in_project,
        }
    }
}
