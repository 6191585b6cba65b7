//! Code shared by the measurements: generated pipelines, the measured tools, and timing.
//!
//! - [`Workload`]: a pipeline by shape, for example 100 jobs in ten layers;
//! - [`Project`]: a Git repository that holds one;
//! - [`Bench`]: builds `runwright`, and runs programs;
//! - [`Tool`]: a program that runs pipelines, ours or one of [`peer`];
//! - [`Contest`]: one workload, several tools, run in turn;
//! - [`floor`]: the same jobs as bare processes, the lower bound for any tool.
//!
//! The `README.md` of this package describes how to run each bench and read its results.

mod bench;
mod clock;
mod contest;
mod project;
mod run;
mod table;
mod tool;
mod workload;

pub mod floor;
pub mod peer;
pub mod statistics;

pub use bench::Bench;
pub use clock::processor_time;
pub use contest::{Contest, Results};
pub use project::Project;
pub use run::{End, Run};
pub use table::table;
pub use tool::{Output, Tool};
pub use workload::{Action, Job, Workload};
