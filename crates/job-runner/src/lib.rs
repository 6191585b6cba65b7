//! The life of one job, from its sources to its last log line.
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
//! [`BuildRunner`] is a [`JobRunner`](executor_core::JobRunner): it takes one job, an executor that
//! a provider makes for it, and walks through the job's stages. [`Sources`] says where the job's
//! files come from, [`ArtifactStore`] where those it leaves go.
//!
//! # The order of everything
//!
//! One file for each phase, in this order: `runner` opens the log, `prepare` gets an environment,
//! `early` begins with the sources meanwhile where they need nothing of it,
//! `setup` and `get_sources` bring sources, caches and artifacts, `scripts` runs what the user wrote, `finalise` keeps
//! artifacts and removes secrets, `reports` reads those that others want to know of, `build` calls them, finishes and cleans up.
//!
//! | what happens | what still runs |
//! |---|---|
//! | the environment or the job's directories cannot be made | cleanup |
//! | sources or artifacts cannot be brought in as many tries as there are | on_failure artifacts, cleanup |
//! | a cancel, or the end of the job's or a stage's time, before the scripts | cleanup |
//! | a script fails, or is cancelled, or its time is up | after_script, on_failure artifacts, cleanup |
//! | an abort at any time, or the environment is lost | cleanup |
//! | the executor panics | cleanup |
//!
//! # Time
//!
//! The job's timeout includes what follows the script. The last part of it, a tenth and at most five
//! minutes, is the *finalisation budget*: a script is told to stop when only the budget is left, so
//! `after_script` and on_failure artifacts have their time also when the job's is up. A job that has
//! neither has no budget.
//!
//! # Visits
//!
//! A [`Visitor`] enters a job in place of its scripts, or after one that failed and before
//! `after_script`. The job's clock stands still meanwhile. [`Terminals`] lists the jobs that shells
//! can be opened in beside what runs.
//!
//! # After a crash
//!
//! With [`JobNotes`] a job that runs in an environment which outlives this process is noted while its
//! scripts run, and what follows them. Another process that is given its [`JobNote`] attaches to that
//! environment, begins its log with what the earlier one has, and goes on with the stages from there; what
//! comes before the scripts is skipped. Where that cannot be, the log says why, and the job begins anew.

mod artifacts;
mod attempts;
mod bringing;
mod build;
mod cache;
mod caught;
mod duration;
mod early;
mod finalise;
mod get_sources;
mod held_log;
mod job_directory;
mod limit;
mod log;
mod off_thread;
mod options;
mod plain_file;
mod prepare;
mod remove;
mod reports;
mod resumed;
mod runner;
mod scripts;
mod setup;
mod sources;
mod stages;
mod staging;
mod terminals;
mod timeouts;
mod tool;
mod tracked;
mod variables;
mod visit;
mod visitor;

pub use artifacts::{
    ArtifactError, ArtifactFiles, ArtifactStore, SavedArtifact, StoredArtifact, StoredArtifacts,
};
pub use cache::{
    CacheError, CacheFiles, CacheKey, CacheStore, LocalCacheEntry, LocalCaches, RemovedCache,
    RestoredCache, SavedCache,
};
pub use options::BuildRunnerOptions;
pub use reports::{DotenvError, DotenvProblem, JunitError, read_dotenv, read_junit};
pub use resumed::{JobNote, JobNotes};
pub use runner::{BuildRunner, spool_file};
pub use sources::{
    FileContent, ListError, LocalRepositories, Snapshot, SnapshotError, SnapshotMeans,
    SnapshotUsers, Sources, TreeContents, Worktree, WorktreeError, project_files, taken_files,
};
pub use terminals::{JobTerminal, Terminals};
pub use tracked::{MayChange, WatchChanges};
pub use visitor::{FailedScript, Visit, VisitPoint, Visitor};
