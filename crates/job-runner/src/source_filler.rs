use crate::runner_processes::RunnerProcesses;
use crate::sources::{
    Checkout, Destination, GitSources, Inputs, Lifetime, NativeGit, SnapshotCopy, Sources, cut,
};
use executor_core::job::Job;
use executor_core::variable::{JobVariable, JobVariables};
use executor_core::{BuildDirs, BuildError, Cancellation, JobTrace, StageVariables};
use shells::GitPlan;
use shells::git::{GitDefaults, GitSettings, GitStrategy};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fills a job's directory on this host.
#[derive(Debug)]
pub(crate) struct SourceFiller {
    pub(crate) sources: Sources,
    /// The directories on this host.
    pub(crate) dirs: BuildDirs,
    /// Whether the job sees later mounts there.
    pub(crate) sees_mounts: bool,
    pub(crate) lifetime: Lifetime,
    pub(crate) processes: Arc<RunnerProcesses>,
    pub(crate) plan: GitPlan,
    /// The number of commits in the copy of a working tree; 0 is all.
    pub(crate) depth: u32,
    /// User name and password for the remote.
    pub(crate) credentials: Vec<JobVariable>,
    pub(crate) authorities: Option<(String, PathBuf)>,
    pub(crate) variables: Arc<StageVariables>,
}

/// The way in which a job's directory was filled.
#[derive(Debug)]
pub(crate) enum Filled {
    /// By git, which logged its steps.
    Fetched,
    /// From a working tree.
    Copied(SnapshotCopy),
    /// With a worktree of a repository.
    CheckedOut(Checkout),
}

impl SourceFiller {
    /// Fills the directory.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`BuildError::Canceled`].
    pub(crate) async fn fill(
        &self,
        inputs: &Inputs,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<Filled, BuildError> {
        match &self.sources {
            Sources::Git(_) => {
                self.apply_plan(&self.plan, trace, cancellation).await?;
                Ok(Filled::Fetched)
            }
            Sources::Snapshot(snapshot) => {
                let copy = snapshot.fill(&self.destination(cancellation), inputs).await;
                let mut copy = copy.map_err(|error| error.into_build_error(cancellation))?;
                let project = Path::new(&self.dirs.project_dir);
                let cut = cut(project, self.depth, self.processes.tree(), cancellation).await;
                if let Err(error) = cut {
                    let reason = executor_core::chain(&*error);
                    let text = format!("the history is whole, GIT_DEPTH is not applied: {reason}");
                    copy.warnings.push(text);
                }
                Ok(Filled::Copied(copy))
            }
            Sources::Worktree(worktree) => {
                let checkout = worktree.fill(&self.destination(cancellation)).await;
                let checkout = checkout.map_err(|error| error.into_build_error(cancellation))?;
                Ok(Filled::CheckedOut(checkout))
            }
            Sources::InPlace(_) | Sources::None => Ok(Filled::Fetched),
        }
    }

    /// Runs a git plan in the directory.
    pub(crate) async fn apply_plan(
        &self,
        plan: &GitPlan,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let native = NativeGit {
            plan,
            project: Path::new(&self.dirs.project_dir),
            credentials: &self.credentials,
            authorities: self.authorities.as_ref(),
            variables: &self.variables,
            processes: self.processes.tree(),
            trace,
            cancellation,
        };
        native.run().await
    }

    fn destination<'p>(&'p self, cancellation: &'p Cancellation) -> Destination<'p> {
        Destination {
            project: Path::new(&self.dirs.project_dir),
            builds: Path::new(&self.dirs.builds_dir),
            lifetime: self.lifetime,
            sees_mounts: self.sees_mounts,
            supervisor: self.processes.supervisor(),
            processes: self.processes.tree(),
            cancellation,
        }
    }
}

/// Returns whether the job gets any sources; `GIT_STRATEGY` may be `none`.
pub(crate) fn has_sources(
    sources: &Sources,
    git: Option<&GitSources>,
    job: &Job,
    expanded: &JobVariables,
) -> bool {
    match sources {
        Sources::Git(_) => git.is_some_and(|git| !git.plan.steps.is_empty()),
        Sources::Snapshot(_) | Sources::Worktree(_) => {
            let strategy = git_settings(job, expanded).strategy;
            !matches!(strategy, GitStrategy::None | GitStrategy::Empty)
        }
        Sources::InPlace(_) | Sources::None => false,
    }
}

/// Returns the job's settings for git.
pub(crate) fn git_settings(job: &Job, expanded: &JobVariables) -> GitSettings {
    GitSettings::from_variables(expanded, GitDefaults::of_job(job)).0
}
