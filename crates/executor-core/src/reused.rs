//! Where the end of a job comes from that did not run.

use crate::job::PipelineId;
use serde::{Deserialize, Serialize};

/// Says that a job did not run, and whose log and products it has: those of the same job in an
/// earlier pipeline of its project, which began with the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusedFrom {
    /// The pipeline in which the job ran.
    pub pipeline: PipelineId,
    /// How long it took there, in milliseconds.
    pub duration_ms: u64,
}
