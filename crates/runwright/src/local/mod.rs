//! Pipelines of a working tree on this machine.
//!
//! [`LocalProject`] finds the pipeline file, [`LocalRun`] runs it, [`StateDir`] keeps what outlives
//! the run.

mod context;
mod error;
mod isolation;
mod logs;
mod project;
mod run;
mod state;

pub use error::{Fault, LocalError};
pub use isolation::Isolation;
pub use logs::RunLogs;
pub use project::{DEFAULT_FILE, LocalProject};
pub use run::{LocalRun, RunOptions};
pub use state::{InPlaceLock, PipelineDir, ProjectState, StateDir, StateError};

#[doc(no_inline)]
pub use job_runner::{RepositoryError, SnapshotError, SnapshotMeans};
#[doc(no_inline)]
pub use process::{ProcessError, Supervisor, can_mount, enter_user_namespace};
