use crate::build::{Build, Settings};
use crate::cache::JobCaches;
use crate::directories::JobDirectory;
use crate::log::JobLog;
use crate::sources::{GitSources, Sources};
use crate::staging::redirect_to_staging;
use crate::variables;
use executor_core::trace::JobTraceExt;
use executor_core::variable::JobVariables;
use executor_core::{
    BuildDirs, BuildError, BuildStage, CancelCause, Cancellation, Executor, JobTrace, Placement,
    PreparedEnvironment, Retryability, StageCommand, StageReport, StageResult, StageVariables,
    Workspace,
};
use shells::{JobScripts, Script, ScriptOptions};
use std::sync::Arc;
use tokio::time::Instant;
use trace::SectionGuard;

/// The stages of a job in its environment.
///
/// An executor need not be `Sync`, so all methods that await take `&mut self`.
#[derive(Debug)]
pub(crate) struct Stages<'b, 'r> {
    pub(crate) build: &'b mut Build<'r>,
    pub(crate) executor: &'b mut dyn Executor,
    pub(crate) environment: PreparedEnvironment,
    pub(crate) settings: Settings,
    /// All variables of the job, expanded.
    pub(crate) expanded: JobVariables,
    /// The variables of the next stage.
    pub(crate) variables: Arc<StageVariables>,
    pub(crate) scripts: JobScripts,
    pub(crate) git: Option<GitSources>,
    /// Variables of the stage that starts the helper command.
    pub(crate) helper_environment: Vec<(String, String)>,
    /// The caches of the job, once they are looked up.
    pub(crate) caches: Option<JobCaches>,
}

/// A stage that has begun; its section ends when it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStage {
    stage: BuildStage,
    started: Instant,
    _section: Option<SectionGuard>,
}

impl Build<'_> {
    /// Starts a stage, under its own heading or the given one.
    pub(crate) fn open(&mut self, stage: BuildStage, heading: Option<&str>) -> OpenStage {
        let name = stage.name();
        tracing::debug!(job = %self.job.id, stage = %name, "Stage started.");
        self.active.set_stage(&name);
        self.observer.stage_started(&stage);
        let resumed = self.resumed.as_ref();
        // The log of an earlier process may have the heading already.
        let is_headed = resumed.is_some_and(|it| it.note.headed.iter().any(|it| *it == name));
        let heading = heading.map(Into::into).or_else(|| stage.description());
        let heading = heading.filter(|_| !is_headed);
        let section = heading.map(|heading| self.log.section(&name, &heading));
        if let Some(note_writer) = &self.note_writer {
            note_writer.note_heading(&stage);
        }
        OpenStage {
            started: Instant::now(),
            _section: section,
            stage,
        }
    }

    /// Ends a stage and reports its result.
    pub(crate) fn close(&mut self, open: OpenStage, result: Option<&StageResult>, succeeded: bool) {
        let report = StageReport {
            stage: open.stage.clone(),
            succeeded,
            duration: open.started.elapsed(),
            result: result.cloned(),
        };
        tracing::debug!(job = %self.job.id, stage = %report.stage, succeeded, "Stage finished.");
        // A last line without an end comes before the section's end and before the next stage.
        self.log.end_stage();
        drop(open);
        self.observer.stage_finished(&report);
        self.reports.push(report);
    }
}

impl<'b, 'r> Stages<'b, 'r> {
    /// Runs all stages of the job that have something to do.
    ///
    /// # Errors
    ///
    /// The first failure; one of artifacts only when everything else succeeded.
    pub(crate) async fn run(
        build: &'b mut Build<'r>,
        executor: &'b mut dyn Executor,
        environment: PreparedEnvironment,
        settings: Settings,
    ) -> Result<(), BuildError> {
        let environment = redirect_to_staging(build, environment)?;
        let mut stages = Self::new(build, executor, environment, settings)?;
        let set_up = if stages.build.is_resumed() {
            // An earlier process did it.
            Ok(())
        } else {
            stages.prepare_script().await?;
            stages.set_up().await
        };
        if set_up.is_ok()
            && let Some(note_writer) = &stages.build.note_writer
        {
            note_writer.start();
        }
        // Until the guard is dropped, the job can be reached from outside.
        let _listed = set_up.is_ok().then(|| stages.list_job());
        if set_up.is_ok()
            && let Some(visited) = stages.visit_in_place().await
        {
            stages.cleanup_file_variables().await;
            return visited;
        }
        let work = match set_up {
            Ok(()) => {
                // The scripts may have changed files already.
                let watched = if stages.build.is_resumed() {
                    None
                } else {
                    stages.watch_tracked_files().await
                };
                let work = stages.scripts().await;
                stages.warn_of_changes(watched).await;
                work
            }
            // There is nothing to save.
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
        let cached = stages.archive_caches(work.is_ok()).await;
        let kept = stages.upload_artifacts(work.is_ok()).await;
        let outcome = work.and(cached).and(kept);
        stages.visit_end(&outcome).await;
        stages.cleanup_file_variables().await;
        outcome
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
        // Only now does a masked variable have the value that a script prints.
        build.log.mask_new_values(&expanded, known);
        let variables = variables::for_stage(&expanded, "running")?;
        let mut scripts = JobScripts::new(&environment.shell, &build.job);
        scripts.options = ScriptOptions::from_variables(&expanded);
        scripts.options.debug_trace &= !build.context.config.debug_trace_disabled;
        build.context.config.name.clone_into(&mut scripts.runner);
        scripts.is_first = !build.is_resumed();
        // Else the runner does it itself.
        let is_remote = matches!(environment.workspace, Workspace::Remote { .. });
        scripts.removes_project = (is_remote || build.staging.is_some())
            && build.own_project(environment.workspace.dirs()).is_some();
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
            helper_environment: Vec::new(),
            caches: None,
        })
    }

    pub(crate) fn log(&self) -> Arc<JobLog> {
        Arc::clone(&self.build.log)
    }

    /// Replaces the references to variables in texts of the job; `what` names one of them in errors.
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

    /// Returns the directories on this host; `None` when the runner cannot reach them.
    pub(crate) fn local_dirs(&self) -> Option<&BuildDirs> {
        self.environment.workspace.host_dirs()
    }

    /// Returns the job's directory; `None` when the runner cannot reach it.
    pub(crate) fn job_directory(&self) -> Option<JobDirectory> {
        let named = &self.environment.workspace.dirs().project_dir;
        let host = &self.local_dirs()?.project_dir;
        Some(JobDirectory {
            host: host.into(),
            named: named.into(),
        })
    }

    /// Returns the directory that artifacts are saved from and fetched to.
    pub(crate) fn artifacts_dir(&self) -> Result<JobDirectory, BuildError> {
        self.job_directory().ok_or_else(|| {
            BuildError::config("artifacts need an executor whose files the runner can reach")
        })
    }

    /// Sets `CI_JOB_STATUS` for the following scripts.
    pub(crate) fn set_status(&mut self, status: &str) -> Result<(), BuildError> {
        self.variables = variables::for_stage(&self.expanded, status)?;
        Ok(())
    }

    /// As [`Build::open`].
    pub(crate) fn open(&mut self, stage: BuildStage, heading: Option<&str>) -> OpenStage {
        self.build.open(stage, heading)
    }

    /// As [`Build::close`].
    pub(crate) fn close(&mut self, open: OpenStage, result: Option<&StageResult>, succeeded: bool) {
        self.build.close(open, result, succeeded);
    }

    /// Runs the script of a stage; skips a stage without a script.
    ///
    /// # Errors
    ///
    /// [`BuildError::Script`] when the script fails; otherwise the error of the executor.
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

    /// Runs a stage with this script.
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

    /// Runs a script in the executor.
    pub(crate) async fn execute(
        &mut self,
        stage: BuildStage,
        script: String,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        let dirs = self.environment.workspace.dirs();
        // The project directory may not exist before the sources.
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
        if !self.helper_environment.is_empty() {
            let own = self.helper_environment.iter().cloned();
            Arc::make_mut(&mut variables).environment.extend(own);
        }
        let command = StageCommand {
            working_dir: working_dir.clone(),
            stage,
            script,
            placement,
            variables,
        };
        self.scripts.is_first = false;
        if let Some(note_writer) = &self.build.note_writer {
            note_writer.expect_request();
        }
        let stage = command.stage.clone();
        let ran = self.executor.run(command, cancellation).await;
        if let Some(note_writer) = &self.build.note_writer {
            note_writer.finish_request(&stage, ran.as_ref().ok());
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

/// Returns whether the environment is lost, so that no further stage can run.
pub(crate) fn environment_is_lost(work: &Result<(), BuildError>) -> bool {
    matches!(
        work,
        Err(BuildError::Canceled(CancelCause::EnvironmentLost))
    )
}

/// Returns the script of a stage; `None` when it has nothing to do.
pub(crate) fn script_of(
    scripts: &JobScripts,
    stage: &BuildStage,
) -> Result<Option<Script>, BuildError> {
    scripts.script(stage).map_err(|error| BuildError::Config {
        message: format!("write the script of {stage}"),
        source: Some(error.into()),
    })
}

/// Turns a failure of one of the runner's own scripts into a system failure.
pub(crate) fn into_system_failure(error: BuildError, what: &str) -> BuildError {
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
