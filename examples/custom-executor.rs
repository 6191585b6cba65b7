//! A custom executor and its provider.
//!
//! Each job gets a scratch directory. Its stages run there with `sh`, and the directory is removed with the
//! job. `tests/it/custom_executor.rs` runs the conformance suite on it, which checks that cancellation,
//! output and cleanup are right.
//!
//! ```text
//! cargo run --example custom-executor
//! ```

use executor_core::ability::Abilities;
use executor_core::prelude::*;
use process::{
    Command, Ended, ExitStatus, ProcessTree, Settings, Supervisor, TempDir, Timing, TraceOutput,
};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// Creates executors that run scripts in a scratch directory.
#[derive(Debug)]
pub struct ScratchProvider {
    supervisor: Supervisor,
}

impl ScratchProvider {
    /// Returns a provider whose jobs end with it.
    ///
    /// # Errors
    ///
    /// When no process can be started on this host.
    pub fn new() -> Result<Self, process::ProcessError> {
        Ok(Self {
            supervisor: Supervisor::start(Settings::default())?,
        })
    }
}

#[async_trait]
impl ExecutorProvider for ScratchProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        Ok(())
    }

    fn create(&self, _data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let base = AbstractExecutor::new(AbstractExecutorOptions {
            default_builds_dir: "/".to_owned(),
            default_cache_dir: "/".to_owned(),
            shared_builds_dir: false,
            shell: ShellInfo::new(ShellDialect::Sh),
            show_hostname: true,
        });
        Ok(Box::new(ScratchExecutor {
            base,
            supervisor: self.supervisor.clone(),
            scratch: None,
        }))
    }

    // There is no limit, so there is nothing to reserve.
    async fn acquire(
        &self,
        _config: &RunnerConfig,
        _cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        Ok(ExecutorData::new())
    }

    async fn release(&self, _config: &RunnerConfig, _data: ExecutorData) {}

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        features.variables = true;
        Ok(())
    }

    fn config_info(&self, _config: &RunnerConfig, _info: &mut ConfigInfo) {}

    fn default_shell(&self) -> Option<ShellDialect> {
        Some(ShellDialect::Sh)
    }

    fn init(&self) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn shutdown(&self, _deadline: Duration) -> Result<(), ProviderError> {
        Ok(())
    }
}

/// Runs the stages of one job in a scratch directory.
#[derive(Debug)]
pub struct ScratchExecutor {
    base: AbstractExecutor,
    supervisor: Supervisor,
    scratch: Option<Scratch>,
}

/// Everything that one job creates, and `cleanup` removes.
#[derive(Debug)]
struct Scratch {
    tree: ProcessTree,
    directory: TempDir,
    temp_dir: String,
}

fn failed(message: &'static str) -> impl Fn(std::io::Error) -> BuildError {
    move |error| BuildError::system("scratch", message, error)
}

fn not_started(error: process::ProcessError) -> BuildError {
    BuildError::system("scratch", "run processes", error)
}

#[async_trait]
impl Executor for ScratchExecutor {
    fn shell(&self) -> &ShellInfo {
        self.base.shell()
    }

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        cancellation.check()?;
        self.base.prepare(options)?;
        let parent = std::env::temp_dir();
        let directory = self
            .supervisor
            .temp_dir(&parent, "scratch-")
            .map_err(not_started)?;
        let below = |name| directory.path().join(name).to_string_lossy().into_owned();
        let dirs = BuildDirs {
            builds_dir: below("builds"),
            cache_dir: below("cache"),
            project_dir: below("builds/project"),
            temp_dir: below("builds/project.tmp"),
            shared: false,
        };
        // Recorded before anything is created in it, so that `cleanup` also finds it after a failure.
        let scratch = self.scratch.insert(Scratch {
            tree: self.supervisor.tree(),
            directory,
            temp_dir: dirs.temp_dir.clone(),
        });
        for path in [&dirs.cache_dir, &dirs.project_dir, &scratch.temp_dir] {
            fs::create_dir_all(path).map_err(failed("make the scratch directory"))?;
        }
        let mut environment = self.base.local_environment("scratch")?;
        environment.workspace = Workspace::Local(dirs);
        Ok(environment)
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        self.base.set_current_stage(ExecutorStage::RUN);
        cancellation.check()?;
        if command.stage == BuildStage::StepRun {
            return Err(BuildError::config("jobs with `run` need another executor"));
        }
        let options = self.base.options()?;
        let Some(scratch) = &self.scratch else {
            return Err(BuildError::config("run comes after prepare"));
        };
        let script = format!("{}/.script", scratch.temp_dir);
        write_private(&script, command.script.as_bytes()).map_err(failed("write the script"))?;
        let mut shell = Command::new("/bin/sh")
            .arg(script)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(command.variables.environment.iter().cloned())
            .current_dir(&command.working_dir);
        for file in &command.variables.files {
            let path = format!("{}/{}", scratch.temp_dir, file.key);
            write_private(&path, &file.content).map_err(failed("write a file variable"))?;
            shell = shell.env(&file.key, path);
        }
        let timing = Timing {
            terminate_grace: options.config.graceful_kill_timeout,
            kill_deadline: options.config.force_kill_timeout,
            ..Timing::default()
        };
        let process = scratch.tree.spawn(&shell).map_err(not_started)?;
        let mut output = TraceOutput(&*options.trace);
        let outcome = process.run(&mut output, cancellation, &timing).await;
        stage_result(&outcome.map_err(not_started)?, cancellation)
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.base.finish(outcome);
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.base.cleanup();
        let Some(scratch) = self.scratch.take() else {
            return Ok(());
        };
        let closed = scratch.tree.close().await;
        scratch
            .directory
            .remove()
            .await
            .and(closed)
            .map_err(not_started)
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

    // `None` stands for a missing ability; the caller asks only for those that `features` reports.
    fn abilities(&self) -> Abilities {
        Abilities::none()
    }
}

/// Writes a file that only the job may read, which the conformance suite checks.
fn write_private(path: &str, content: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(content)
}

/// Turns the end of a stage into a result: a failing script is a result, a stopped one an error with the
/// cause.
fn stage_result(
    outcome: &process::Outcome,
    cancellation: &Cancellation,
) -> Result<StageResult, BuildError> {
    if let Ended::Stopped { .. } = outcome.ended {
        return Err(BuildError::stopped("scratch", cancellation));
    }
    let status = match outcome.status {
        ExitStatus::Exited(code) => StageStatus::Exited(ExitCode(code.into())),
        ExitStatus::Signaled { signal, .. } => StageStatus::Signaled { signal },
    };
    let [stdout_bytes, stderr_bytes] = outcome.bytes;
    let duration = outcome.elapsed;
    Ok(StageResult {
        duration,
        stdout_bytes,
        stderr_bytes,
        ..StageResult::new(status)
    })
}

/// Runs one job as a runner does.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let provider = ScratchProvider::new()?;
    let config = RunnerConfig::new("example", "scratch");
    let go_on = Cancellation::new();

    let data = provider.acquire(&config, &go_on).await?;
    let mut executor = provider.create(&data)?;
    let outcome = run_job(&mut *executor, &config, &go_on).await;
    // Cleanup precedes the release, and both also follow a failed stage.
    executor.cleanup().await?;
    provider.release(&config, data).await;
    outcome
}

async fn run_job(
    executor: &mut dyn Executor,
    config: &RunnerConfig,
    go_on: &Cancellation,
) -> anyhow::Result<()> {
    let options = PrepareOptions {
        config: Arc::new(config.clone()),
        job: Arc::new(Job::default()),
        variables: Arc::default(),
        trace: Arc::new(Console),
        slot: executor_core::JobSlot::default(),
        project_dir: None,
        planned: None,
    };
    let environment = executor.prepare(options, go_on).await?;
    let command = StageCommand {
        stage: BuildStage::script(),
        script: "echo \"hello from $PWD\"".to_owned(),
        placement: executor_core::Placement::User,
        variables: Arc::default(),
        working_dir: environment.workspace.dirs().project_dir.clone(),
    };
    let result = executor.run(command, go_on).await?;
    Console.system_line(&format!("The script ended with {}.", result.status));
    executor.finish(&JobOutcome::success()).await;
    Ok(())
}

/// A log that goes to the terminal. A real one masks secrets.
#[derive(Debug)]
struct Console;

impl JobTrace for Console {
    fn write(&self, _stream: TraceStream, data: &[u8]) {
        // A closed reader is no reason to stop the job.
        let _ = std::io::stdout().write_all(data);
    }

    fn idle(&self, _stream: TraceStream) {}

    fn add_mask(&self, _secret: &str) {}
}
