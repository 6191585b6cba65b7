use executor_core::ability::ResumeHandle;
use executor_core::{JobId, JobSlot, StreamKind, TraceStream};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The note of a running job, from which another process can resume it.
///
/// `handle` and `log_bytes` belong together: that part of the log has exactly the output that the
/// environment had sent when it gave out the handle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobNote {
    /// The job.
    pub job: JobId,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Identifies the environment and the position in its output.
    pub handle: ResumeHandle,
    /// The job's log.
    pub(crate) log: PathBuf,
    /// The part of the log that counts.
    pub(crate) log_bytes: u64,
    /// The streams whose last line is incomplete.
    pub(crate) open: Vec<Stream>,
    /// The stages whose headings the log has.
    pub(crate) headed: Vec<String>,
    /// The job's concurrency numbers, which are part of the names of its directories.
    pub(crate) slot: Slot,
    /// The builds directory on this host.
    pub(crate) builds: Option<String>,
}

/// A stream of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stream {
    source: u8,
    is_error: bool,
}

/// The concurrency numbers of a job.
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
