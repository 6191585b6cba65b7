//! Runs a plan: a pure state machine that decides, and a driver that obeys it.

mod dependents;
mod downstream;
mod driver;
mod machine;
mod needs;
mod node;
mod observer;
mod queue;
mod record;
mod retry;
mod stages;
mod status;
mod tally;

pub use downstream::{Bridge, Downstream, DownstreamPipeline};
pub use driver::Driver;
pub use machine::{Finish, Machine};
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
