//! What is known of the runs of a project, living and past. See `docs/design/runs.md`.

mod continuation;
mod control;
mod earlier;
mod error;
mod failed;
mod family;
mod history;
mod journal;
mod killed;
mod line;
mod newer;
mod notices;
mod obedient_run;
mod past_run;
mod products;
mod project_runs;
mod record;
mod retention;
mod run_lock;
mod run_state;

pub use continuation::{Continuation, ContinuationKind};
pub use control::{
    ControlReply, ControlRequest, JobStanding, PlayVariable, RunControl, RunControlError,
    RunStanding,
};
pub use error::RunsError;
pub use history::{JobHistory, RunEnd, RunHistory};
pub use journal::Journal;
pub use killed::KilledRun;
pub use notices::Notices;
pub use past_run::Run;
pub use project_runs::Runs;
pub use record::{RunCommand, RunRecord, RunSituation};
pub use run_state::RunState;

pub(super) use control::ControlServer;
pub(super) use earlier::Earlier;
pub(super) use family::Family;
pub(super) use newer::tell_older;
pub(super) use obedient_run::ObedientRun;
pub(super) use past_run::logs_of_life;
pub(super) use products::{dotenv_of, products};
pub(super) use project_runs::forget_told;
pub(super) use run_lock::RunLock;
