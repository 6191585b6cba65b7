//! Runs one job, from its sources to the last line of its log.
//!
//! ```
//! use job_runner::{BuildRunner, BuildRunnerOptions, Snapshot, Sources};
//! use process::{Settings, Supervisor};
//! use std::sync::Arc;
//!
//! let options = BuildRunnerOptions {
//!     sources: Sources::Snapshot(Arc::new(Snapshot::new(".", "/var/tmp/snapshots"))),
//!     ..BuildRunnerOptions::default()
//! };
//! let runner = BuildRunner::new(options, Supervisor::start(Settings::default())?);
//! // Hand it to a `Worker`, or call `run` with a `JobAssignment` and a `RunContext`.
//! # let _ = runner;
//! # Ok::<(), process::ProcessError>(())
//! ```
//!
//! [`BuildRunner`] is a [`JobRunner`](executor_core::JobRunner): it takes one job and a provider, creates
//! an executor and runs the job's stages. [`Sources`] says where the job's files come from,
//! [`ArtifactStore`] where its artifacts go.
//!
//! # Phases
//!
//! Each phase is one file. In the order of a job: `runner` opens the log, `secrets` reads external stores,
//! `prepare` gets an environment, `early` meanwhile fetches sources that do not need it, `setup` and `get_sources` fetch sources, caches
//! and artifacts, `scripts` runs the user's scripts, `finalise` saves artifacts and removes secrets, and
//! `reports` reads report files. `build` calls them, finishes and cleans up.
//!
//! | event | what still runs |
//! |---|---|
//! | a secret cannot be read | nothing |
//! | the environment or the job's directories cannot be created | cleanup |
//! | sources or artifacts cannot be fetched in the allowed number of attempts | on_failure artifacts, cleanup |
//! | a cancel or a timeout before the scripts | cleanup |
//! | a script fails, is cancelled or times out | after_script, on_failure artifacts, cleanup |
//! | an abort at any time, or the environment is lost | cleanup |
//! | the executor panics | cleanup |
//!
//! # Time
//!
//! The job's timeout includes the stages after the script. Its last part, a tenth and at most five
//! minutes, is the *finalisation budget*: a script is stopped when only the budget is left, so that
//! `after_script` and on_failure artifacts still have time. A job with neither has no budget.
//!
//! # Visits
//!
//! A [`Visitor`] enters a job in place of its scripts, or after a failed script and before
//! `after_script`. The job's clock stops meanwhile. [`ReachableJobs`] lists the jobs in which shells can
//! be opened, and whose ports can be reached, while their scripts run.
//!
//! # After a crash
//!
//! With [`JobNotes`], the runner keeps a note of a job while its scripts and later stages run in an
//! environment that outlives this process. Another process with that [`JobNote`] attaches to the
//! environment, starts its log with the earlier one, and resumes the stages from there; it skips
//! everything before the scripts. When that is not possible, the log says why, and the job starts over unless a
//! script of it has ended: then it fails. Before it removes anything of a job, the runner adds the outcome to the note;
//! the other process takes it over, and runs nothing. The caller removes the note of an ended job.

mod artifacts;
mod attempts;
mod build;
mod cache;
mod directories;
mod duration;
mod early;
mod exchange;
mod finalise;
mod get_sources;
mod held_log;
#[cfg(feature = "helper")]
pub mod helper;
mod limit;
mod log;
mod options;
mod panics;
mod plain_file;
mod prepare;
mod reachable_jobs;
mod reports;
mod resume;
mod runner;
mod runner_processes;
mod scripts;
mod secrets;
mod setup;
mod source_filler;
mod sources;
mod stages;
mod staging;
mod timeouts;
mod tracked;
mod variables;
mod visitor;

pub use artifacts::{
    ArtifactError, ArtifactFiles, ArtifactStore, SavedArtifact, StoredArtifact, StoredArtifacts,
};
pub use cache::{
    CacheError, CacheFiles, CacheKey, CacheStore, LocalCacheEntry, LocalCaches, RemovedCache,
    RestoredCache, SavedCache,
};
pub use options::{BuildRunnerOptions, HelperOptions, HelperServer};
pub use reachable_jobs::{JobAccess, JobTerminal, ReachableJobs};
pub use reports::{DotenvError, DotenvProblem, JunitError, read_dotenv, read_junit};
pub use resume::{JobNote, JobNotes};
pub use runner::{BuildRunner, spool_file};
pub use secrets::{SecretError, SecretStore};
pub use sources::{
    FileContent, ListError, LocalRepositories, Snapshot, SnapshotError, SnapshotMethod,
    SnapshotUsers, Sources, TreeContents, Worktree, WorktreeError, project_files, taken_files,
};
pub use tracked::{MayChange, WatchChanges};
pub use visitor::{FailedScript, Visit, VisitPoint, Visitor};
