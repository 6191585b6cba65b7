//! Runs of a project's pipeline on this machine.

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

pub(super) use runner::{RunnerParts, runner_of};
pub(super) use supervision::{recover, supervise};
