//! The runs of a project, running and ended. See `docs/design/runs.md`.

pub(crate) mod clean;
pub(crate) mod durations;
pub(crate) mod export;
pub(crate) mod retained_files;
pub(crate) mod run_logs;
pub(crate) mod state;

mod continuation;
mod continued_run;
mod control;
mod downstream_runs;
mod error;
mod failed_jobs;
mod journal;
mod journal_line;
mod killed_run;
mod notices;
mod products;
mod project_runs;
mod record;
mod retention;
mod run;
mod run_control_handler;
mod run_history;
mod run_lock;
mod run_state;
mod supersede;

pub use continuation::{Continuation, ContinuationKind};
pub use control::{
    ControlReply, ControlRequest, JobStanding, PlayVariable, RunControl, RunControlError,
    RunStanding,
};
pub use error::RunsError;
pub use journal::Journal;
pub use killed_run::KilledRun;
pub use notices::Notices;
pub use project_runs::Runs;
pub use record::{RunCommand, RunRecord, RunSituation};
pub use run::Run;
pub use run_history::{JobHistory, RunEnd, RunHistory};
pub use run_state::RunState;

pub(crate) use continued_run::ContinuedRun;
pub(crate) use control::ControlServer;
pub(crate) use downstream_runs::{DownstreamRuns, ParentOfRun};
pub(crate) use products::{dotenv_of, products};
pub(crate) use project_runs::forget_reported;
pub(crate) use run::logs_of_attempt;
pub(crate) use run_control_handler::RunControlHandler;
pub(crate) use run_lock::RunLock;
pub(crate) use supersede::supersede_older_runs;
