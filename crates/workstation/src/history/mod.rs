//! What is known of the runs of a project, living and past. See `docs/design/runs.md`.

pub(crate) mod clean;
pub(crate) mod durations;
pub(crate) mod export;
pub(crate) mod logs;
pub(crate) mod retained_files;
pub(crate) mod state;

mod continuation;
mod control;
mod downstream_runs;
mod earlier;
mod error;
mod failed;
mod journal;
mod killed;
mod line;
mod newer;
mod notices;
mod past_run;
mod products;
mod project_runs;
mod record;
mod retention;
mod run_control_handler;
mod run_history;
mod run_lock;
mod run_state;

pub use continuation::{Continuation, ContinuationKind};
pub use control::{
    ControlReply, ControlRequest, JobStanding, PlayVariable, RunControl, RunControlError,
    RunStanding,
};
pub use error::RunsError;
pub use journal::Journal;
pub use killed::KilledRun;
pub use notices::Notices;
pub use past_run::Run;
pub use project_runs::Runs;
pub use record::{RunCommand, RunRecord, RunSituation};
pub use run_history::{JobHistory, RunEnd, RunHistory};
pub use run_state::RunState;

pub(crate) use control::ControlServer;
pub(crate) use downstream_runs::{DownstreamRuns, ParentOfRun};
pub(crate) use earlier::Earlier;
pub(crate) use newer::tell_older;
pub(crate) use past_run::logs_of_attempt;
pub(crate) use products::{dotenv_of, products};
pub(crate) use project_runs::forget_told;
pub(crate) use run_control_handler::RunControlHandler;
pub(crate) use run_lock::RunLock;
