//! Runs of a project's pipeline on this machine.
//!
//! Each phase of a run is a type: [`RunBuilder`] describes it, [`ReservedRun`] has its number, its
//! directory and its locks, [`LocalRun`] has an executor too, and `RunningPipeline` runs the jobs.

pub(crate) mod artifacts;
pub(crate) mod caches;
pub(crate) mod children;
pub(crate) mod environments;
#[cfg(feature = "functions")]
pub(crate) mod function_run;
pub(crate) mod isolation;
pub(crate) mod resource_groups;
pub(crate) mod session;

mod builder;
mod executor;
mod local_run;
mod options;
mod other_projects;
mod planning;
mod reserved_run;
mod restore;
mod run_controls;
mod runner;
mod running;
mod start;
mod supervision;

pub use builder::RunBuilder;
pub use executor::RunExecutor;
pub use local_run::LocalRun;
pub use options::RunOptions;
pub use reserved_run::ReservedRun;
pub use run_controls::RunControls;
pub use supervision::{end_orphans, succeed_killed_run, supervise};

pub(crate) use other_projects::check_triggers;
pub(crate) use reserved_run::RunShared;
pub(crate) use runner::{RunnerParts, runner_of};
pub(crate) use start::{RUNNING, job_results};
