use super::bridge::OpenBridge;
use super::controls::{ControlError, PipelineSnapshot};
use super::downstream::DownstreamPipeline;
use super::worker_link::Handout;
use crate::report::PipelineReport;
use crate::resource_groups::{ResourceError, ResourceLease};
use executor_core::variable::JobVariable;
use executor_core::{BuildError, JobOutcome};
use tokio::sync::oneshot;

/// Everything that the owner task reacts to, besides a stop, the time and the end of a worker.
#[derive(Debug)]
pub(super) enum Message {
    /// A worker is free. The owner drops the reply when no job will come.
    JobWanted(oneshot::Sender<Handout>),
    /// A job that a worker took has ended.
    JobEnded { job: JobKey, outcome: JobOutcome },
    /// A caller controls a pipeline.
    Control {
        pipeline: PipelineKey,
        request: ControlRequest,
    },
    /// The wait for a resource group has ended: with the lease, with none because the job was
    /// canceled, or with an error.
    GroupLeased {
        job: JobKey,
        lease: Result<Option<ResourceLease>, ResourceError>,
    },
    /// The pipeline that a bridge starts was created, or could not be.
    DownstreamCreated {
        bridge: Box<OpenBridge>,
        created: Result<Box<DownstreamPipeline>, BuildError>,
    },
    /// The port has noted the success of a bridge that waited for its pipeline.
    BridgeSucceeded {
        bridge: Box<OpenBridge>,
        report: Box<PipelineReport>,
    },
}

/// A caller's request to one pipeline.
#[derive(Debug)]
pub(super) enum ControlRequest {
    Play {
        job: String,
        variables: Vec<JobVariable>,
        reply: Reply<()>,
    },
    Retry {
        job: String,
        reply: Reply<()>,
    },
    CancelJob {
        job: String,
        reply: Reply<()>,
    },
    Cancel {
        reply: Reply<()>,
    },
    Status {
        reply: Reply<PipelineSnapshot>,
    },
    /// A hold was dropped, or a clock was stopped or continues: the owner looks at both again.
    Recheck,
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, ControlError>>;

/// Identifies a pipeline of the run. Pipelines that began earlier have lower keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PipelineKey(pub(super) usize);

/// Identifies a job of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobKey {
    pub(super) pipeline: PipelineKey,
    /// Its index in the plan of the pipeline.
    pub(super) index: usize,
}
