//! The stages of a build, and the stages of an executor.

use crate::cancellation::Cancellation;
use crate::trace::JobTrace;
use parking_lot::{Mutex, MutexGuard};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The log and the cancellation of a running stage.
#[derive(Debug, Clone, Copy)]
pub struct StageIo<'a> {
    /// Receives the stage's output.
    pub trace: &'a dyn JobTrace,
    /// Stops the stage.
    pub cancellation: &'a Cancellation,
}

/// One stage of a build: one script, one call of [`Executor::run`](crate::Executor::run).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BuildStage {
    /// Resolves secrets from an external store, in the runner itself.
    ResolveSecrets,
    /// Creates directories and prints the host name.
    PrepareScript,
    /// Fetches the sources.
    GetSources,
    /// Empties the working tree between two attempts of [`BuildStage::GetSources`].
    ClearWorktree,
    /// Restores caches.
    RestoreCache,
    /// Downloads artifacts of earlier jobs.
    DownloadArtifacts,
    /// Runs a user's step, usually `script`.
    Step(String),
    /// Runs steps through the step-runner.
    StepRun,
    /// Runs the user's `after_script`.
    AfterScript,
    /// Saves caches after success.
    ArchiveCache,
    /// Saves caches after failure.
    ArchiveCacheOnFailure,
    /// Uploads artifacts after success.
    UploadArtifactsOnSuccess,
    /// Uploads artifacts after failure.
    UploadArtifactsOnFailure,
    /// Removes files of variables, and cleans the working tree if requested.
    CleanupFileVariables,
}

impl BuildStage {
    /// Returns the stage of the user's script.
    pub fn script() -> Self {
        Self::Step(crate::job::Step::SCRIPT.to_owned())
    }

    /// Returns GitLab Runner's name of the stage (`get_sources`, `step_script`).
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::ResolveSecrets => "resolve_secrets",
            Self::PrepareScript => "prepare_script",
            Self::GetSources => "get_sources",
            Self::ClearWorktree => "clear_worktree",
            Self::RestoreCache => "restore_cache",
            Self::DownloadArtifacts => "download_artifacts",
            Self::Step(name) => return Cow::Owned(format!("step_{name}")),
            Self::StepRun => "step_run",
            Self::AfterScript => "after_script",
            Self::ArchiveCache => "archive_cache",
            Self::ArchiveCacheOnFailure => "archive_cache_on_failure",
            Self::UploadArtifactsOnSuccess => "upload_artifacts_on_success",
            Self::UploadArtifactsOnFailure => "upload_artifacts_on_failure",
            Self::CleanupFileVariables => "cleanup_file_variables",
        })
    }

    /// Returns the header of the stage's log section; `None` for a stage without a section.
    pub fn description(&self) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(match self {
            Self::ResolveSecrets => "Resolving secrets",
            Self::PrepareScript => "Preparing environment",
            Self::GetSources => "Getting source from Git repository",
            Self::ClearWorktree => return None,
            Self::RestoreCache => "Restoring cache",
            Self::DownloadArtifacts => "Downloading artifacts",
            Self::Step(_) | Self::StepRun => {
                return Some(Cow::Owned(format!(
                    "Executing \"{}\" stage of the job script",
                    self.name()
                )));
            }
            Self::AfterScript => "Running after_script",
            Self::ArchiveCache => "Saving cache for successful job",
            Self::ArchiveCacheOnFailure => "Saving cache for failed job",
            Self::UploadArtifactsOnSuccess => "Uploading artifacts for successful job",
            Self::UploadArtifactsOnFailure => "Uploading artifacts for failed job",
            Self::CleanupFileVariables => "Cleaning up project directory and file based variables",
        }))
    }

    /// Returns whether the stage runs the user's code.
    pub const fn is_user_code(&self) -> bool {
        matches!(self, Self::Step(_) | Self::StepRun | Self::AfterScript)
    }
}

impl fmt::Display for BuildStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// The current stage of an executor, as a metrics label (`executor_stage`).
///
/// An executor names its own stages with [`ExecutorStage::new`]: `docker_pulling_image`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExecutorStage(Cow<'static, str>);

impl ExecutorStage {
    /// The executor is created.
    pub const CREATED: Self = Self::new("created");
    /// The executor prepares the environment.
    pub const PREPARE: Self = Self::new("prepare");
    /// The executor runs a build stage.
    pub const RUN: Self = Self::new("run");
    /// The executor received the job's outcome.
    pub const FINISH: Self = Self::new("finish");
    /// The executor removes its resources.
    pub const CLEANUP: Self = Self::new("cleanup");

    /// Returns the stage of this name.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Returns a stage with a name from run time, for drivers outside this process.
    pub fn from_name(name: impl Into<String>) -> Self {
        Self(Cow::Owned(name.into()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExecutorStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The current stage of one executor, shared with its readers.
///
/// `run` borrows the executor exclusively, possibly for hours, while a metrics scrape may come at any
/// moment. The scrape reads this cell instead of the executor. Clones share one value.
#[derive(Debug, Clone)]
pub struct StageCell(Arc<Mutex<Stage>>);

#[derive(Debug)]
enum Stage {
    Own(ExecutorStage),
    Of(StageCell),
}

impl StageCell {
    /// Returns a cell with [`ExecutorStage::CREATED`].
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Stage::Own(ExecutorStage::CREATED))))
    }

    /// Returns the stage.
    pub fn get(&self) -> ExecutorStage {
        let followed = match &*self.lock() {
            Stage::Own(stage) => return stage.clone(),
            Stage::Of(cell) => cell.clone(),
        };
        followed.get()
    }

    /// Sets the stage; in a cell that follows another cell, the stage of that cell.
    pub fn set(&self, stage: ExecutorStage) {
        let followed = match &mut *self.lock() {
            Stage::Own(own) => {
                *own = stage;
                return;
            }
            Stage::Of(cell) => cell.clone(),
        };
        followed.set(stage);
    }

    /// Makes this cell follow `other`, which must not follow this cell, directly or indirectly.
    ///
    /// A wrapper that replaces its inner executor for a retry returns its own cell, which follows the
    /// inner one. A reader that took the cell early still sees the current stage.
    pub fn follow(&self, other: Self) {
        *self.lock() = Stage::Of(other);
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.0.lock()
    }
}

impl Default for StageCell {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_steps_have_their_own_stage_names() {
        assert_eq!(BuildStage::script().name(), "step_script");
        assert_eq!(
            BuildStage::Step("release".to_owned()).to_string(),
            "step_release"
        );
        assert!(BuildStage::script().is_user_code());
        assert!(!BuildStage::GetSources.is_user_code());
    }

    #[test]
    fn clones_of_a_cell_share_its_stage() {
        // R-EXEC-09
        let cell = StageCell::new();
        let reader = cell.clone();
        assert_eq!(reader.get(), ExecutorStage::CREATED);
        cell.set(ExecutorStage::new("docker_pulling_image"));
        assert_eq!(reader.get().as_str(), "docker_pulling_image");
    }

    #[test]
    fn following_cell_reads_and_sets_the_other() {
        let outer = StageCell::new();
        let reader = outer.clone();
        let first = StageCell::new();
        first.set(ExecutorStage::PREPARE);
        outer.follow(first.clone());
        assert_eq!(reader.get(), ExecutorStage::PREPARE);
        outer.set(ExecutorStage::CLEANUP);
        assert_eq!(first.get(), ExecutorStage::CLEANUP);

        outer.follow(StageCell::new());
        assert_eq!(reader.get(), ExecutorStage::CREATED);
        first.set(ExecutorStage::RUN);
        assert_eq!(reader.get(), ExecutorStage::CREATED);
    }

    #[test]
    fn stage_from_a_name_equals_the_constant() {
        let stage = ExecutorStage::from_name(String::from("run"));
        assert_eq!(stage, ExecutorStage::RUN);
        assert_eq!(stage.to_string(), "run");
    }
}
