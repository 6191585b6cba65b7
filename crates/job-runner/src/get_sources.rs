use crate::limit::{Expired, Limit, within};
use crate::sources::{
    Attachment, Brought, Inputs, NativeGit, Place, Snapshot, Sources, Stay, Worktree,
};
use crate::stages::{Stages, not_the_users, script_of};
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, BuildStage, Cancellation, StopLevel};
use shells::git::{GitDefaults, GitSettings, GitStrategy};
use shells::{GitPlan, JobScripts, Script};
use std::path::Path;
use std::sync::Arc;
use tokio::time::Instant;

impl Stages<'_, '_> {
    /// Brings the sources, in as many tries as the job allows.
    ///
    /// # Errors
    ///
    /// That of the last try; never as the user's fault.
    pub(crate) async fn get_sources(&mut self, setup: &Cancellation) -> Result<(), BuildError> {
        if let Some(git) = &self.git {
            git.warnings
                .iter()
                .for_each(|warning| self.build.log.warning_line(warning));
        }
        let attempts = self.attempts("GET_SOURCES_ATTEMPTS");
        let timeout = self.settings.timeouts.get_sources;
        let fetch = setup.child();
        let limits = timeout.map(|limit| Limit {
            at: Instant::now() + limit,
            stops: fetch.clone(),
            level: StopLevel::Abort,
            expired: Expired {
                phase: "get_sources",
                limit,
            },
        });
        let tries = async {
            let mut attempt = 1;
            loop {
                let error = match self.get_sources_once(&fetch).await {
                    Err(error) if attempt < attempts && error.is_temporary() => error,
                    other => return other,
                };
                self.rest(attempt, "get sources", &error, &fetch).await;
                if attempt == 1 {
                    self.clear_worktree(&fetch).await?;
                }
                attempt += 1;
            }
        };
        within(tries, limits.into_iter().collect()).await
    }

    async fn get_sources_once(&mut self, fetch: &Cancellation) -> Result<(), BuildError> {
        if let Some(cause) = fetch.cause() {
            return Err(BuildError::Canceled(cause));
        }
        let name = |error| not_the_users(error, "getting the sources");
        if self.local_dirs().is_none() {
            if let Sources::Snapshot(_) | Sources::Worktree(_) = self.build.options.sources {
                return Err(BuildError::config(
                    "the files of the working tree need an executor that runs jobs on this host",
                ));
            }
            return self
                .script_stage(BuildStage::GetSources, fetch)
                .await
                .map_err(name);
        }
        let before = script_of(&self.hooks(Hooks::Before), &BuildStage::GetSources)?;
        let after = script_of(&self.hooks(Hooks::After), &BuildStage::GetSources)?;
        let brings = match self.build.options.sources {
            Sources::Git(_) => self
                .git
                .as_ref()
                .is_some_and(|git| !git.plan.steps.is_empty()),
            Sources::Snapshot(_) | Sources::Worktree(_) => self.wants_files(),
            Sources::InPlace(_) | Sources::None => false,
        };
        if before.is_none() && after.is_none() && !brings {
            return Ok(());
        }
        let heading = match self.build.options.sources {
            Sources::Snapshot(_) => Some("Copying the working tree"),
            Sources::Worktree(_) => Some("Making a worktree"),
            _ => None,
        };
        let open = self.open(BuildStage::GetSources, heading);
        let work = async {
            self.run_hooks(before, fetch).await?;
            if brings {
                // A hook after the sources, and a cache, come before the artifacts.
                let inputs = if after.is_none() && self.build.job.cache.is_empty() {
                    self.inputs().await
                } else {
                    Inputs::default()
                };
                self.bring(fetch, &inputs).await?;
                self.send_staged(fetch).await?;
            }
            self.run_hooks(after, fetch).await
        };
        let done = work.await;
        self.close(open, None, done.is_ok());
        done.map_err(name)
    }

    async fn run_hooks(
        &mut self,
        hooks: Option<Script>,
        fetch: &Cancellation,
    ) -> Result<(), BuildError> {
        let Some(hooks) = hooks else {
            return Ok(());
        };
        let result = self.execute(hooks, fetch).await?;
        self.judge(&result)
    }

    /// Returns scripts that hold the hooks on one side of the sources and nothing else.
    fn hooks(&self, side: Hooks) -> JobScripts {
        let mut scripts = JobScripts {
            sources: GitPlan::default(),
            ..self.scripts.clone()
        };
        match side {
            Hooks::Before => scripts.post_get_sources.clear(),
            Hooks::After => scripts.pre_get_sources.clear(),
        }
        scripts
    }

    /// Returns whether a job that could have the user's files wants them: `GIT_STRATEGY` may say no.
    fn wants_files(&self) -> bool {
        let defaults = GitDefaults::of_job(&self.build.job);
        let (settings, _) = GitSettings::from_variables(&self.expanded, defaults);
        !matches!(settings.strategy, GitStrategy::None | GitStrategy::Empty)
    }

    async fn bring(&mut self, fetch: &Cancellation, inputs: &Inputs) -> Result<(), BuildError> {
        match &self.build.options.sources {
            Sources::Git(_) => {
                let plan = self.scripts.sources.clone();
                self.carry_out(&plan, fetch).await
            }
            Sources::Snapshot(snapshot) => {
                let snapshot = Arc::clone(snapshot);
                self.bring_snapshot(&snapshot, fetch, inputs).await
            }
            Sources::Worktree(worktree) => {
                let worktree = Arc::clone(worktree);
                self.bring_worktree(&worktree, fetch).await
            }
            Sources::InPlace(_) | Sources::None => Ok(()),
        }
    }

    async fn bring_snapshot(
        &mut self,
        snapshot: &Snapshot,
        fetch: &Cancellation,
        inputs: &Inputs,
    ) -> Result<(), BuildError> {
        self.build.detach().await?;
        self.build.shown_inputs.clear();
        let brought = snapshot.bring(&self.place(fetch), inputs).await;
        let Brought {
            files,
            warnings,
            layer,
        } = brought.map_err(|error| error.into_build_error(fetch))?;
        if let Some(layer) = &layer {
            self.build.shown_inputs = layer.shown();
        }
        let what = if layer.is_some() { "Showing" } else { "Copied" };
        self.build.attachment = layer.map(Attachment::Layer);
        let root = snapshot.root().display();
        self.tell(&warnings, &format!("{what} {files} files of {root}"));
        Ok(())
    }

    /// Returns the artifacts that the job is going to get. What cannot be read is told of when it is
    /// fetched.
    async fn inputs(&mut self) -> Inputs {
        let mut inputs = Inputs {
            store: self.build.options.artifacts.clone(),
            trees: Vec::new(),
        };
        let Some(store) = &inputs.store else {
            return inputs;
        };
        let job = Arc::clone(&self.build.job);
        for dependency in &job.dependencies {
            match store.tree(dependency.id).await {
                Ok(Some(tree)) => inputs.trees.push((dependency.id, tree)),
                Ok(None) => {}
                Err(_) => return Inputs::default(),
            }
        }
        inputs
    }

    async fn bring_worktree(
        &mut self,
        worktree: &Worktree,
        fetch: &Cancellation,
    ) -> Result<(), BuildError> {
        self.build.detach().await?;
        let brought = worktree.bring(&self.place(fetch)).await;
        let checkout = brought.map_err(|error| error.into_build_error(fetch))?;
        let root = worktree.root().display();
        let text = format!("Checked out {} of {root}", checkout.commit);
        self.tell(&checkout.warnings, &text);
        if self.build.stay() == Stay::Job {
            self.build.attachment = Some(Attachment::Checkout(checkout));
        }
        Ok(())
    }

    fn tell(&self, warnings: &[String], text: &str) {
        let log = &self.build.log;
        for warning in warnings {
            log.warning_line(warning);
        }
        log.system_line(text);
    }

    /// Returns the job's directory as one that is to be filled.
    fn place<'p>(&'p self, cancellation: &'p Cancellation) -> Place<'p> {
        let workspace = &self.environment.workspace;
        // Without a way to the files nobody brings any.
        let dirs = workspace.host_dirs().unwrap_or(workspace.dirs());
        Place {
            project: Path::new(&dirs.project_dir),
            builds: Path::new(&dirs.builds_dir),
            stay: self.build.stay(),
            // A container that is there already has the mounts of its beginning.
            sees_mounts: workspace.is_local(),
            supervisor: self.build.tools.supervisor(),
            processes: self.build.tools.processes(),
            cancellation,
        }
    }

    async fn carry_out(&mut self, plan: &GitPlan, fetch: &Cancellation) -> Result<(), BuildError> {
        let log = self.log();
        let workspace = &self.environment.workspace;
        let dirs = workspace.host_dirs().unwrap_or(workspace.dirs());
        let native = NativeGit {
            plan,
            project: Path::new(&dirs.project_dir),
            credentials: self.git.as_ref().map_or(&[], |git| &git.credentials),
            variables: &self.variables,
            processes: self.build.tools.processes(),
            trace: &*log,
            cancellation: fetch,
        };
        native.run().await
    }

    async fn clear_worktree(&mut self, fetch: &Cancellation) -> Result<(), BuildError> {
        if self.scripts.sources.steps.is_empty() || fetch.is_canceled() {
            return Ok(());
        }
        if self.local_dirs().is_none() {
            let cleared = self.script_stage(BuildStage::ClearWorktree, fetch).await;
            return cleared.map_err(|error| not_the_users(error, "clearing the worktree"));
        }
        let open = self.open(BuildStage::ClearWorktree, None);
        let cleared = self.carry_out(&GitPlan::clear(), fetch).await;
        self.close(open, None, cleared.is_ok());
        cleared
    }
}

/// On which side of the sources a hook runs.
#[derive(Debug, Clone, Copy)]
enum Hooks {
    Before,
    After,
}
