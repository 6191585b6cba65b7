//! The executor: one attempt of a job, run by a driver.

use crate::config::{CustomOptions, Phase};
use crate::driver::{Driver, build_failure};
use crate::environment::before_stages;
use crate::error::{BACKEND, CustomError};
use crate::exit::Verdict;
use crate::provider::Host;
use crate::reported_config::ReportedConfig;
use executor_core::ability::Abilities;
use executor_core::trace::JobTraceExt;
use executor_core::{
    AbstractExecutor, AbstractExecutorOptions, BuildError, BuildStage, Cancellation, Executor,
    ExecutorStage, ExitCode, JobOutcome, PrepareOptions, PreparedEnvironment, Retryability,
    RunnerConfig, ShellDialect, ShellInfo, StageCell, StageCommand, StageResult, StageStatus,
    Workspace,
};
use process::Outcome;
use std::sync::Arc;

/// Runs the stages of one job through a driver.
///
/// [`provider`](crate::provider()) creates it. `prepare` creates the driver's private directory and calls `config_exec` and
/// `prepare_exec`; `cleanup` calls `cleanup_exec`, ends what the driver left running and removes the directory.
#[derive(Debug)]
pub struct CustomExecutor {
    base: AbstractExecutor,
    host: Arc<Host>,
    driver: Option<Driver>,
}

impl CustomExecutor {
    pub(crate) fn new(host: Arc<Host>) -> Self {
        let base = AbstractExecutor::new(AbstractExecutorOptions {
            // A runner without a builds directory is refused.
            default_builds_dir: String::new(),
            default_cache_dir: "cache".to_owned(),
            shared_builds_dir: false,
            shell: ShellInfo::new(ShellDialect::Bash),
            show_hostname: false,
        });
        Self {
            base,
            host,
            driver: None,
        }
    }
}

#[async_trait::async_trait]
impl Executor for CustomExecutor {
    fn shell(&self) -> &ShellInfo {
        self.base.shell()
    }

    async fn prepare(
        &mut self,
        mut options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        cancellation.check()?;
        self.base.set_current_stage(ExecutorStage::PREPARE);
        let config = self.host.driver_of(&options.config);
        if config.run_exec.is_empty() {
            return Err(CustomError::NoDriver.into());
        }
        let variables = Arc::clone(&options.variables);
        let trace = Arc::clone(&options.trace);
        let started = Driver::start(
            &self.host,
            config,
            options.clone(),
            before_stages(&variables, None),
        )?;
        let driver = self.driver.insert(started);
        let reported = driver.configure(cancellation).await?;
        trace.system_line(&reported.headline());
        self.base
            .share_builds_dir(reported.builds_dir_is_shared.unwrap_or(false));
        let shell = reported.dialect();
        let config = Arc::make_mut(&mut options.config);
        if let Ok(Some(dialect)) = shell {
            config.shell = Some(dialect);
        }
        let configured = config.builds_dir.as_ref();
        let configured = configured.or(self.host.options.builds_dir.as_ref());
        if let Some(path) = configured
            && options.slot.concurrent_project_id > 0
            && may_mix_jobs(path, &reported)
        {
            trace.warning_line(&format!(
                "jobs that run at the same time share the directories below builds_dir {path}: unless each has an environment of \
                 its own, end the path with /$CI_CONCURRENT_PROJECT_ID, or let config_exec print {{\"builds_dir_is_shared\": true}}"
            ));
        }
        set_dirs(config, &reported, &self.host.options, driver)?;
        // The runner's own place for the sources is not the driver's.
        options.project_dir = None;
        let mut dirs = self.base.prepare(options)?.clone();
        // GitLab Runner says so of every driver, whatever its builds directory is.
        dirs.shared = true;
        driver.set_variables(before_stages(&variables, Some(&dirs)));
        shell?;
        driver.prepare(cancellation).await?;
        if let Some(hostname) = &reported.hostname {
            trace.system_line(&format!("Running on {hostname}..."));
        }
        Ok(PreparedEnvironment {
            shell: self.base.shell().clone(),
            workspace: Workspace::Remote {
                dirs,
                transfer: None,
            },
            hostname: reported.hostname.unwrap_or_else(hostname),
            variables: Vec::new(),
        })
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        self.base.set_current_stage(ExecutorStage::RUN);
        cancellation.check()?;
        let dirs = self.base.dirs()?;
        let dialect = self.base.shell().dialect;
        let driver = self.driver.as_mut();
        let driver = driver.ok_or_else(|| BuildError::not_prepared(BACKEND))?;
        if command.stage == BuildStage::StepRun {
            return Err(CustomError::Functions.into());
        }
        let ran = driver.run_stage(&command, dialect, dirs, cancellation);
        match ran.await {
            Ok((outcome, Verdict::Success)) => Ok(result(&outcome, 0)),
            Ok((outcome, Verdict::BuildFailure(code)))
                if code != 0 && command.stage.is_user_code() =>
            {
                Ok(result(&outcome, code))
            }
            Ok((_, Verdict::BuildFailure(code))) => Err(build_failure(Phase::Run, code)),
            // A user's script is not repeated because of its driver.
            Err(error) if command.stage.is_user_code() => Err(permanent(error)),
            Err(error) => Err(error),
        }
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.base.finish(outcome);
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.base.cleanup();
        match &mut self.driver {
            Some(driver) => driver.clean().await,
            None => Ok(()),
        }
    }

    fn current_stage(&self) -> ExecutorStage {
        self.base.current_stage()
    }

    fn set_current_stage(&self, stage: ExecutorStage) {
        self.base.set_current_stage(stage);
    }

    fn stage_cell(&self) -> StageCell {
        self.base.stage_cell()
    }

    fn abilities(&self) -> Abilities {
        Abilities::none()
    }
}

/// Sets the directories of a job: the driver's, else the runner's, else those of the provider.
fn set_dirs(
    config: &mut RunnerConfig,
    reported: &ReportedConfig,
    options: &CustomOptions,
    driver: &Driver,
) -> Result<(), CustomError> {
    let choose = |reported: &Option<String>, own: &Option<String>, default: &Option<String>| {
        let chosen = reported.as_ref().or(own.as_ref()).or(default.as_ref());
        chosen.map(|path| driver.absolute(path))
    };
    let builds_dir = choose(
        &reported.builds_dir,
        &config.builds_dir,
        &options.builds_dir,
    );
    config.builds_dir = Some(builds_dir.ok_or(CustomError::NoBuildsDir)?);
    let cache_dir = choose(&reported.cache_dir, &config.cache_dir, &options.cache_dir);
    config.cache_dir = Some(cache_dir.unwrap_or_else(|| driver.absolute("cache")));
    Ok(())
}

/// Returns whether concurrent jobs of a project may have the same directories below a configured builds directory.
fn may_mix_jobs(path: &str, reported: &ReportedConfig) -> bool {
    // A driver that prints either has decided itself.
    let is_decided = reported.builds_dir.is_some() || reported.builds_dir_is_shared.is_some();
    // A relative path is in the private directory, and a variable may distinguish the jobs.
    !is_decided && path.starts_with('/') && !path.contains('$')
}

fn result(outcome: &Outcome, code: i32) -> StageResult {
    let [stdout_bytes, stderr_bytes] = outcome.bytes;
    StageResult {
        duration: outcome.elapsed,
        stdout_bytes,
        stderr_bytes,
        ..StageResult::new(StageStatus::Exited(ExitCode(code)))
    }
}

fn permanent(error: BuildError) -> BuildError {
    match error {
        BuildError::System {
            backend,
            message,
            source,
            ..
        } => BuildError::System {
            backend,
            message,
            source,
            retry: Retryability::Permanent,
        },
        other => other,
    }
}

/// Returns the name of this host.
fn hostname() -> String {
    let uname = rustix::system::uname();
    uname.nodename().to_string_lossy().into_owned()
}
