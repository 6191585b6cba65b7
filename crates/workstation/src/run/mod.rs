//! Runs of a project's pipeline on this machine.

pub(crate) mod artifacts;
pub(crate) mod caches;
pub(crate) mod children;
pub(crate) mod environments;
pub(crate) mod function_run;
pub(crate) mod isolation;
pub(crate) mod resource_groups;
pub(crate) mod session;

mod assembly;
mod local_run;
mod options;
mod planning;
mod reservation;
mod run_controls;
mod runner;
mod supervision;
mod taking_over;

pub use local_run::LocalRun;
pub use options::RunOptions;
pub use run_controls::RunControls;

pub(crate) use runner::{RunnerParts, runner_of};
pub(crate) use supervision::{recover, supervise};
