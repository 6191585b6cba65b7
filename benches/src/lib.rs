//! What the measurements share: generated pipelines, the program measured, and the way of timing.
//!
//! - [`Workload`]: a pipeline by shape, for example 100 jobs in ten layers;
//! - [`Project`]: a Git repository that holds one;
//! - [`Bench`]: builds `runwright` and runs it, or any other tool, in a project;
//! - [`floor`]: the same jobs as bare processes, which no runner can be faster than.
//!
//! How to run each bench and how to read it is in the `README.md` beside this package's manifest.

mod bench;
mod project;
mod workload;

pub mod floor;
pub mod statistics;

pub use bench::{Bench, Run};
pub use project::Project;
pub use workload::{Job, Workload};
