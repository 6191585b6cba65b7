use crate::limit::{Expired, Limit, within};
use crate::source_filler::{Filled, SourceFiller, git_settings, has_sources};
use crate::sources::{Attachment, Inputs, Lifetime, SnapshotCopy, Sources};
use crate::stages::{Stages, into_system_failure, script_of};
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, BuildStage, Cancellation, FailureReason, StopLevel, counted};
use shells::git::GitStrategy;
use shells::{GitPlan, JobScripts, Script};
use std::sync::Arc;
use tokio::time::Instant;

impl Stages<'_, '_> {
    /// Fetches the sources, in as many attempts as the job allows.
    ///
    /// # Errors
    ///
    /// The error of the last attempt; a script failure only if the executor itself reports one.
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
        let work = async {
            let mut attempt = 1;
            loop {
                let error = match self.get_sources_once(&fetch).await {
                    Err(error) if attempt < attempts && may_help(&error) => error,
                    other => return other,
                };
                self.pause_after_failure(attempt, "get sources", &error, &fetch)
                    .await;
                if attempt == 1 {
                    self.clear_worktree(&fetch).await?;
                }
                attempt += 1;
            }
        };
        within(work, limits.into_iter().collect()).await
    }

    async fn get_sources_once(&mut self, fetch: &Cancellation) -> Result<(), BuildError> {
        fetch.check()?;
        let name = |error| into_system_failure(error, "getting the sources");
        if self.local_dirs().is_none() {
            return self.sources_by_script(fetch).await.map_err(name);
        }
        let before = script_of(&self.hooks(Hooks::Before), &BuildStage::GetSources)?;
        let after = script_of(&self.hooks(Hooks::After), &BuildStage::GetSources)?;
        let job = Arc::clone(&self.build.job);
        let sources = &self.build.options.sources;
        let fetches = has_sources(sources, self.git.as_ref(), &job, &self.expanded);
        let emptying = self.emptying()?;
        if before.is_none() && after.is_none() && emptying.is_none() && !fetches {
            return Ok(());
        }
        let open = self.open(BuildStage::GetSources, self.sources_heading());
        let work = async {
            self.run_own(before, fetch).await?;
            self.run_own(emptying, fetch).await?;
            if fetches {
                // A hook after the sources and a cache must precede the artifacts.
                let inputs = if after.is_none() && self.build.job.cache.is_empty() {
                    self.inputs().await
                } else {
                    Inputs::default()
                };
                self.fetch(fetch, &inputs).await?;
                self.send_staged(fetch).await?;
            }
            self.run_own(after, fetch).await
        };
        let done = work.await;
        self.close(open, None, done.is_ok());
        done.map_err(name)
    }

    /// Returns the heading of stage `get_sources`, if it is not that of git.
    pub(crate) fn sources_heading(&self) -> Option<&'static str> {
        match self.build.options.sources {
            Sources::Snapshot(_) => Some("Copying the working tree"),
            Sources::Worktree(_) => Some("Making a worktree"),
            _ => None,
        }
    }

    /// Runs a script beside the sources in the environment.
    async fn run_own(
        &mut self,
        script: Option<Script>,
        fetch: &Cancellation,
    ) -> Result<(), BuildError> {
        let Some(script) = script else {
            return Ok(());
        };
        let result = self
            .execute(script.stage().clone(), script.into_text(), fetch)
            .await?;
        self.judge(&result)
    }

    /// Returns the script that removes the files of earlier jobs where the sources will be sent. `GIT_STRATEGY=none` keeps them.
    fn emptying(&self) -> Result<Option<Script>, BuildError> {
        let is_kept = self.build.staging.is_some() && self.environment.workspace.dirs().shared;
        let strategy = git_settings(&self.build.job, &self.expanded).strategy;
        if !is_kept
            || strategy == GitStrategy::None
            || matches!(self.build.options.sources, Sources::None)
        {
            return Ok(None);
        }
        let scripts = JobScripts {
            sources: GitPlan::clear(),
            pre_get_sources: Vec::new(),
            post_get_sources: Vec::new(),
            ..self.scripts.clone()
        };
        script_of(&scripts, &BuildStage::GetSources)
    }

    /// Returns scripts with the hooks on one side of the sources and nothing else.
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

    /// Waits for early sources, or fetches the sources now.
    pub(crate) async fn fetch(
        &mut self,
        fetch: &Cancellation,
        inputs: &Inputs,
    ) -> Result<(), BuildError> {
        let filled = if let Some(early) = self.build.early.take() {
            early.claim(fetch).await?
        } else {
            self.build.detach().await?;
            self.build.shown_inputs.clear();
            let log = self.log();
            self.source_filler().fill(inputs, &*log, fetch).await?
        };
        match (filled, &self.build.options.sources) {
            (Filled::Copied(copy), Sources::Snapshot(snapshot)) => {
                let root = snapshot.root().display().to_string();
                self.keep_copy(copy, &root);
            }
            (Filled::CheckedOut(checkout), Sources::Worktree(worktree)) => {
                let root = worktree.root().display();
                let text = format!("Checked out {} of {root}", checkout.commit);
                self.log_result(&checkout.warnings, &text);
                if self.build.directory_lifetime() == Lifetime::Job {
                    self.build.attachment = Some(Attachment::Checkout(checkout));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn keep_copy(&mut self, copy: SnapshotCopy, root: &str) {
        let SnapshotCopy {
            files,
            warnings,
            layer,
        } = copy;
        if let Some(layer) = &layer {
            self.build.shown_inputs = layer.shown();
        }
        let what = if layer.is_some() { "Showing" } else { "Copied" };
        self.build.attachment = layer.map(Attachment::Layer);
        self.log_result(
            &warnings,
            &format!("{what} {} of {root}", counted(files, "file")),
        );
    }

    /// Returns the artifacts of the job's dependencies. An unreadable one is reported when it is fetched.
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

    fn log_result(&self, warnings: &[String], text: &str) {
        let log = &self.build.log;
        for warning in warnings {
            log.warning_line(warning);
        }
        log.system_line(text);
    }

    fn source_filler(&self) -> SourceFiller {
        let workspace = &self.environment.workspace;
        let git = self.git.as_ref();
        SourceFiller {
            sources: self.build.options.sources.clone(),
            // Unused when the runner cannot reach the directories.
            dirs: match &self.build.exchange {
                Some(exchange) => exchange.host_dirs(workspace.dirs()),
                None => workspace.host_dirs().unwrap_or(workspace.dirs()).clone(),
            },
            // A running container does not see later mounts.
            sees_mounts: workspace.is_local(),
            lifetime: self.build.directory_lifetime(),
            processes: Arc::clone(&self.build.processes),
            plan: self.scripts.sources.clone(),
            depth: git_settings(&self.build.job, &self.expanded).depth,
            credentials: git.map_or_else(Vec::new, |git| git.credentials.clone()),
            authorities: self.build.options.git_authorities.clone(),
            variables: Arc::clone(&self.variables),
        }
    }

    async fn clear_worktree(&mut self, fetch: &Cancellation) -> Result<(), BuildError> {
        if self.scripts.sources.steps.is_empty() || fetch.is_canceled() {
            return Ok(());
        }
        if self.local_dirs().is_none() {
            let cleared = self.script_stage(BuildStage::ClearWorktree, fetch).await;
            return cleared.map_err(|error| into_system_failure(error, "clearing the worktree"));
        }
        let open = self.open(BuildStage::ClearWorktree, None);
        let (filler, log) = (self.source_filler(), self.log());
        let cleared = filler.apply_plan(&GitPlan::clear(), &*log, fetch).await;
        self.close(open, None, cleared.is_ok());
        cleared
    }
}

/// Returns whether another attempt may help: a driver may report a lost connection as a failed script.
fn may_help(error: &BuildError) -> bool {
    error.is_temporary() || error.failure_reason() == FailureReason::ScriptFailure
}

/// The side of the sources on which a hook runs.
#[derive(Debug, Clone, Copy)]
enum Hooks {
    Before,
    After,
}
