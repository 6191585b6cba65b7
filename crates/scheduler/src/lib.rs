//! Runs a plan: a pure state machine that decides, and a driver that obeys it.

mod auto_cancel;
mod bridge;
mod clock;
mod colours;
mod conductor;
mod controls;
mod coverage;
mod dependents;
mod dispatcher;
mod downstream;
mod driver;
mod endings;
pub mod event;
mod group_waits;
mod groups;
mod hold;
mod machine;
mod needs;
mod node;
mod observer;
mod orders;
mod process_mode;
mod progress;
mod queue;
mod record;
pub mod report;
mod resources;
mod restore;
mod retry;
mod stages;
mod status;
mod tally;

pub use auto_cancel::{Redundant, redundant};
pub use clock::StoppedClock;
pub use controls::{ControlError, Controls, JobSnapshot, PipelineSnapshot};
pub use downstream::{Bridge, Downstream, DownstreamPipeline};
pub use driver::Driver;
pub use event::{EventSink, PipelineEvent};
pub use hold::Hold;
pub use machine::{Finish, Machine};
pub use process_mode::{Contender, ProcessMode};
pub use progress::{BegunJob, FinishedJob, RunProgress};
pub use report::{ChildReport, CriticalStep, JobReport, PipelineReport, ReportFormat, RunExit};
pub use resources::{
    LocalResources, ResourceError, ResourceGroups, ResourceLease, ResourceRequest,
};
pub use retry::allowed as retries_allowed;
pub use status::Status;

/// A job has come to another status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusChange {
    /// The job's place in the plan.
    pub job: usize,
    /// Its new status.
    pub status: Status,
    /// The attempt it is at, from 1.
    pub attempt: u32,
}
