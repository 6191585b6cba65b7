use crate::sources::{Brought, Checkout, GitSources, Inputs, NativeGit, Place, Sources, Stay};
use crate::tool::Tools;
use executor_core::job::Job;
use executor_core::variable::{JobVariable, JobVariables};
use executor_core::{BuildDirs, BuildError, Cancellation, JobTrace, StageVariables};
use shells::GitPlan;
use shells::git::{GitDefaults, GitSettings, GitStrategy};
use std::path::Path;
use std::sync::Arc;

/// What it takes to fill a job's directory, apart from the place that its scripts run in.
#[derive(Debug)]
pub(crate) struct Bringing {
    pub(crate) sources: Sources,
    /// The directories on this host.
    pub(crate) dirs: BuildDirs,
    /// Whether the job sees what is mounted there from now on.
    pub(crate) sees_mounts: bool,
    pub(crate) stay: Stay,
    pub(crate) tools: Arc<Tools>,
    pub(crate) plan: GitPlan,
    /// User name and password for the remote.
    pub(crate) credentials: Vec<JobVariable>,
    pub(crate) variables: Arc<StageVariables>,
}

/// How a job's directory was filled.
#[derive(Debug)]
pub(crate) enum Filled {
    /// By git, which said what it did.
    Fetched,
    /// From a working tree.
    Copied(Brought),
    /// With a worktree that a repository knows of.
    CheckedOut(Checkout),
}

impl Bringing {
    /// Fills the directory.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`BuildError::Canceled`].
    pub(crate) async fn run(
        &self,
        inputs: &Inputs,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<Filled, BuildError> {
        match &self.sources {
            Sources::Git(_) => {
                self.carry_out(&self.plan, trace, cancellation).await?;
                Ok(Filled::Fetched)
            }
            Sources::Snapshot(snapshot) => {
                let brought = snapshot.bring(&self.place(cancellation), inputs).await;
                let brought = brought.map_err(|error| error.into_build_error(cancellation))?;
                Ok(Filled::Copied(brought))
            }
            Sources::Worktree(worktree) => {
                let checkout = worktree.bring(&self.place(cancellation)).await;
                let checkout = checkout.map_err(|error| error.into_build_error(cancellation))?;
                Ok(Filled::CheckedOut(checkout))
            }
            Sources::InPlace(_) | Sources::None => Ok(Filled::Fetched),
        }
    }

    /// Carries out a plan of git's in the directory.
    pub(crate) async fn carry_out(
        &self,
        plan: &GitPlan,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let native = NativeGit {
            plan,
            project: Path::new(&self.dirs.project_dir),
            credentials: &self.credentials,
            variables: &self.variables,
            processes: self.tools.processes(),
            trace,
            cancellation,
        };
        native.run().await
    }

    fn place<'p>(&'p self, cancellation: &'p Cancellation) -> Place<'p> {
        Place {
            project: Path::new(&self.dirs.project_dir),
            builds: Path::new(&self.dirs.builds_dir),
            stay: self.stay,
            sees_mounts: self.sees_mounts,
            supervisor: self.tools.supervisor(),
            processes: self.tools.processes(),
            cancellation,
        }
    }
}

/// Returns whether there is anything to bring: `GIT_STRATEGY` may say no.
pub(crate) fn brings(
    sources: &Sources,
    git: Option<&GitSources>,
    job: &Job,
    expanded: &JobVariables,
) -> bool {
    match sources {
        Sources::Git(_) => git.is_some_and(|git| !git.plan.steps.is_empty()),
        Sources::Snapshot(_) | Sources::Worktree(_) => {
            let defaults = GitDefaults::of_job(job);
            let (settings, _) = GitSettings::from_variables(expanded, defaults);
            !matches!(settings.strategy, GitStrategy::None | GitStrategy::Empty)
        }
        Sources::InPlace(_) | Sources::None => false,
    }
}
