use crate::build::{Build, Settings};
use crate::cache::JobCaches;
use crate::job_directory::JobDirectory;
use crate::log::JobLog;
use crate::sources::{GitSources, Sources};
use crate::staging::staged;
use crate::variables;
use executor_core::trace::JobTraceExt;
use executor_core::variable::JobVariables;
use executor_core::{
    BuildDirs, BuildError, BuildStage, CancelCause, Cancellation, Executor, JobTrace, Placement,
    PreparedEnvironment, Retryability, StageCommand, StageReport, StageResult, StageVariables,
};
use shells::{JobScripts, Script, ScriptOptions};
use std::sync::Arc;
use tokio::time::Instant;
use trace::SectionGuard;

/// The stages of a job in its environment.
///
/// An executor need not be `Sync`, so whatever awaits here takes `&mut self`.
#[derive(Debug)]
pub(crate) struct Stages<'b, 'r> {
    pub(crate) build: &'b mut Build<'r>,
    pub(crate) executor: &'b mut dyn Executor,
    pub(crate) environment: PreparedEnvironment,
    pub(crate) settings: Settings,
    /// All variables of the job, expanded.
    pub(crate) expanded: JobVariables,
    /// What the next stage gets of them.
    pub(crate) variables: Arc<StageVariables>,
    pub(crate) scripts: JobScripts,
    pub(crate) git: Option<GitSources>,
    /// The caches of the job, once it was looked at them.
    pub(crate) caches: Option<JobCaches>,
}

/// A stage that has begun; its section ends when it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStage {
    stage: BuildStage,
    started: Instant,
    _section: Option<SectionGuard>,
}

impl<'b, 'r> Stages<'b, 'r> {
    /// Runs all stages of the job that have something to do.
    ///
    /// # Errors
    ///
    /// What made the job fail: what came first, and trouble with artifacts only when all else went
    /// well.
    pub(crate) async fn run(
        build: &'b mut Build<'r>,
        executor: &'b mut dyn Executor,
        environment: PreparedEnvironment,
        settings: Settings,
    ) -> Result<(), BuildError> {
        let environment = staged(build, environment)?;
        let mut stages = Self::new(build, executor, environment, settings)?;
        let set_up = if stages.build.goes_on() {
            // An earlier process has done it.
            Ok(())
        } else {
            stages.prepare_script().await?;
            stages.set_up().await
        };
        if set_up.is_ok()
            && let Some(noting) = &stages.build.noting
        {
            noting.begin();
        }
        // While the guard lives others may open shells beside the scripts.
        let _listed = set_up.is_ok().then(|| stages.list_terminal());
        if set_up.is_ok()
            && let Some(visited) = stages.visit_in_place().await
        {
            stages.cleanup_file_variables().await;
            return visited;
        }
        let work = match set_up {
            Ok(()) => {
                // The scripts may have changed files already.
                let look = if stages.build.goes_on() {
                    None
                } else {
                    stages.look_at_tracked().await
                };
                let work = stages.scripts().await;
                stages.tell_of_changes(look).await;
                work
            }
            // There is nothing to save and nobody waits for it.
            Err(error @ (BuildError::Canceled(_) | BuildError::Timeout { .. })) => {
                return Err(error);
            }
            Err(error) => Err(error),
        };
        if stages.build.cancellation.is_aborted() || environment_is_lost(&work) {
            return work;
        }
        if let Err(error) = stages.fetch_staged(work.is_ok()).await {
            stages.cleanup_file_variables().await;
            return work.and(Err(error));
        }
        stages.archive_caches(work.is_ok()).await;
        let kept = stages.upload_artifacts(work.is_ok()).await;
        stages.cleanup_file_variables().await;
        work.and(kept)
    }

    fn new(
        build: &'b mut Build<'r>,
        executor: &'b mut dyn Executor,
        environment: PreparedEnvironment,
        settings: Settings,
    ) -> Result<Self, BuildError> {
        let known = &*settings.variables;
        let all = variables::in_environment(known.clone(), &environment)?;
        let temp_dir = &environment.workspace.dirs().temp_dir;
        let expanded = variables::expanded(&all, Some(temp_dir))?;
        // Only now is the value of a masked variable what a script prints.
        build.log.mask_new_values(&expanded, known);
        let variables = variables::for_stage(&expanded, "running")?;
        let mut scripts = JobScripts::new(&environment.shell, &build.job);
        scripts.options = ScriptOptions::from_variables(&expanded);
        scripts.options.debug_trace &= !build.context.config.debug_trace_disabled;
        build.context.config.name.clone_into(&mut scripts.runner);
        scripts.is_first = !build.goes_on();
        let git = match build.options.sources {
            Sources::Git(local) => Some(GitSources::plan(&build.job, &expanded, local)?),
            _ => None,
        };
        if let Some(git) = &git {
            scripts.sources = git.plan.clone();
            let secrets = git.credentials.iter().filter(|variable| variable.masked);
            secrets.for_each(|secret| build.log.add_mask(&secret.value));
        }
        Ok(Self {
            build,
            executor,
            environment,
            settings,
            expanded,
            variables,
            scripts,
            git,
            caches: None,
        })
    }

    pub(crate) fn log(&self) -> Arc<JobLog> {
        Arc::clone(&self.build.log)
    }

    /// Replaces the references to variables in texts of the job; `what` names one of them.
    pub(crate) fn expand_all(
        &self,
        what: &str,
        texts: &[String],
    ) -> Result<Vec<String>, BuildError> {
        let temp_dir = &self.environment.workspace.dirs().temp_dir;
        let what = || what.to_owned();
        let expand = |text: &String| {
            let text = variables::expand(&self.expanded, Some(temp_dir), &what, text)?;
            Ok(text.into_owned())
        };
        texts.iter().map(expand).collect()
    }

    /// Returns the directories when the runner reaches them itself.
    pub(crate) fn local_dirs(&self) -> Option<&BuildDirs> {
        self.environment.workspace.host_dirs()
    }

    /// Returns the job's directory when the runner reaches it itself.
    pub(crate) fn job_directory(&self) -> Option<JobDirectory> {
        let named = &self.environment.workspace.dirs().project_dir;
        let host = &self.local_dirs()?.project_dir;
        Some(JobDirectory {
            host: host.into(),
            named: named.into(),
        })
    }

    /// Returns where artifacts come from and go to.
    pub(crate) fn artifacts_dir(&self) -> Result<JobDirectory, BuildError> {
        self.job_directory().ok_or_else(|| {
            BuildError::config("artifacts need an executor whose files can be reached from here")
        })
    }

    /// Tells the scripts from here on how the job went so far.
    pub(crate) fn set_status(&mut self, status: &str) -> Result<(), BuildError> {
        self.variables = variables::for_stage(&self.expanded, status)?;
        Ok(())
    }

    /// Begins a stage, under its own heading or another one.
    pub(crate) fn open(&mut self, stage: BuildStage, heading: Option<&str>) -> OpenStage {
        let name = stage.name();
        tracing::debug!(job = %self.build.job.id, stage = %name, "Stage started.");
        self.build.active.set_stage(&name);
        self.build.observer.stage_started(&stage);
        let going_on = self.build.going_on.as_ref();
        // What is in the log of an earlier process is not said once more.
        let is_headed = going_on.is_some_and(|it| it.note.headed.iter().any(|it| *it == name));
        let heading = heading.map(Into::into).or_else(|| stage.description());
        let heading = heading.filter(|_| !is_headed);
        let section = heading.map(|heading| self.build.log.section(&name, &heading));
        if let Some(noting) = &self.build.noting {
            noting.headed(&stage);
        }
        OpenStage {
            started: Instant::now(),
            _section: section,
            stage,
        }
    }

    /// Ends a stage and reports how it went.
    pub(crate) fn close(&mut self, open: OpenStage, result: Option<&StageResult>, succeeded: bool) {
        let report = StageReport {
            stage: open.stage.clone(),
            succeeded,
            duration: open.started.elapsed(),
            result: result.cloned(),
        };
        tracing::debug!(job = %self.build.job.id, stage = %report.stage, succeeded, "Stage finished.");
        // A last line without an end comes before the section's end and before the next stage.
        self.build.log.end_stage();
        drop(open);
        self.build.observer.stage_finished(&report);
        self.build.reports.push(report);
    }

    /// Runs the script of a stage; one that has none is skipped without a trace.
    ///
    /// # Errors
    ///
    /// [`BuildError::Script`] when the script fails; else what the executor says.
    pub(crate) async fn script_stage(
        &mut self,
        stage: BuildStage,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let Some(script) = script_of(&self.scripts, &stage)? else {
            return Ok(());
        };
        self.text_stage(stage, script.into_text(), cancellation)
            .await
    }

    /// Runs a stage whose text is this.
    ///
    /// # Errors
    ///
    /// As [`script_stage`](Self::script_stage).
    pub(crate) async fn text_stage(
        &mut self,
        stage: BuildStage,
        text: String,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let open = self.open(stage.clone(), None);
        let result = self.execute(stage, text, cancellation).await;
        let succeeded = result
            .as_ref()
            .is_ok_and(|result| result.status.is_success());
        self.close(open, result.as_ref().ok(), succeeded);
        self.judge(&result?)
    }

    /// Gives a script to the executor.
    pub(crate) async fn execute(
        &mut self,
        stage: BuildStage,
        script: String,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        let dirs = self.environment.workspace.dirs();
        // Before the sources are there, the project's directory may not be.
        let (placement, working_dir) = if stage.is_user_code() {
            (Placement::User, &dirs.project_dir)
        } else {
            (Placement::Helper, &dirs.builds_dir)
        };
        let mut variables = Arc::clone(&self.variables);
        if stage == BuildStage::GetSources
            && let Some(git) = self.git.as_ref().filter(|git| !git.credentials.is_empty())
        {
            let secrets = git
                .credentials
                .iter()
                .map(|it| (it.key.clone(), it.value.clone()));
            Arc::make_mut(&mut variables).environment.extend(secrets);
        }
        let command = StageCommand {
            working_dir: working_dir.clone(),
            stage,
            script,
            placement,
            variables,
        };
        self.scripts.is_first = false;
        if let Some(noting) = &self.build.noting {
            noting.urgent();
        }
        let ran = self.executor.run(command, cancellation).await;
        if let Some(noting) = &self.build.noting {
            noting.settle();
        }
        ran
    }

    pub(crate) fn judge(&self, result: &StageResult) -> Result<(), BuildError> {
        if result.oom_killed {
            self.build
                .log
                .warning_line("a process was killed because memory ran out");
        }
        if result.status.is_success() {
            return Ok(());
        }
        Err(BuildError::Script {
            exit_code: result.status.exit_code(),
        })
    }
}

/// Returns whether there is no place left to run anything in.
pub(crate) fn environment_is_lost(work: &Result<(), BuildError>) -> bool {
    matches!(
        work,
        Err(BuildError::Canceled(CancelCause::EnvironmentLost))
    )
}

/// Returns the script of a stage, `None` for one that has nothing to do.
pub(crate) fn script_of(
    scripts: &JobScripts,
    stage: &BuildStage,
) -> Result<Option<Script>, BuildError> {
    scripts.script(stage).map_err(|error| BuildError::Config {
        message: format!("write the script of {stage}"),
        source: Some(error.into()),
    })
}

/// Names a failure of the runner's own scripts for what it is.
pub(crate) fn not_the_users(error: BuildError, what: &str) -> BuildError {
    match error {
        BuildError::Script { exit_code } => BuildError::System {
            backend: "runner",
            message: format!("{what} failed with exit code {exit_code}"),
            source: None,
            retry: Retryability::Temporary,
        },
        other => other,
    }
}
