//! What the measurements share: generated pipelines, the tools measured, and the way of timing.
//!
//! - [`Workload`]: a pipeline by shape, for example 100 jobs in ten layers;
//! - [`Project`]: a Git repository that holds one;
//! - [`Bench`]: builds `runwright`, and runs programs;
//! - [`Tool`]: a program that runs pipelines, ours or one of [`peer`];
//! - [`Contest`]: one workload, several tools, run in turn;
//! - [`floor`]: the same jobs as bare processes, which no tool can be faster than.
//!
//! How to run each bench and how to read it is in the `README.md` beside this package's manifest.

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
