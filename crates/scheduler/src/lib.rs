//! Runs a plan: a pure state machine that decides which job may start, and a driver that starts it.
//!
//! - [`Machine`] is synchronous and pure: every input, such as the end of a job, returns the status
//!   changes it leads to.
//! - [`Driver`] runs the jobs of a plan with workers. One task owns all state of a run; [`Controls`]
//!   send it the requests of the user.
//! - [`PipelineEvent`]s report the progress of a run, and a [`PipelineReport`] its result.

mod auto_cancel;
pub mod event;
mod job_log;
pub mod report;
mod resource_groups;
mod run;
mod state_machine;
mod status;

pub use auto_cancel::{Redundant, redundant};
pub use event::{EventSink, PipelineEvent};
pub use report::{ChildReport, CriticalStep, JobReport, PipelineReport, ReportFormat, RunExit};
pub use resource_groups::{
    Contender, LocalResources, ProcessMode, ResourceError, ResourceGroups, ResourceLease,
    ResourceRequest,
};
pub use run::{
    BegunJob, Bridge, ControlError, Controls, DecidingJobs, Downstream, DownstreamPipeline, Driver,
    FinishedJob, Hold, JobSnapshot, PipelineSnapshot, RunProgress, StoppedClock,
};
pub use state_machine::{Finish, Machine, retries_allowed};
pub use status::{Status, StatusChange};
