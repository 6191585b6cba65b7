//! Runs a plan with workers: a driver with settings, and the owner task with the state.

mod bridge;
mod controls;
mod downstream;
mod driver;
mod message;
mod owner_task;
mod progress;
mod record;
mod running_pipeline;
mod worker_link;

pub use controls::{ControlError, Controls, Hold, JobSnapshot, PipelineSnapshot, StoppedClock};
pub use downstream::{Bridge, Downstream, DownstreamPipeline};
pub use driver::Driver;
pub use progress::{BegunJob, DecidingJobs, FinishedJob, RunProgress};
