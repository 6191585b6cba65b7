//! The executor: one job as shell processes on this host.

use crate::directories;
use crate::error::ShellError;
use crate::host::Host;
use crate::stage_files::StageFiles;
#[cfg(feature = "functions")]
use crate::step_service::StepService;
use crate::terminal::ShellTerminal;
#[cfg(feature = "functions")]
use executor_core::StageIo;
use executor_core::ability::{Abilities, Terminal};
use executor_core::{
    AbstractExecutor, AbstractExecutorOptions, BuildError, BuildStage, Cancellation, Executor,
    ExecutorStage, ExitCode, JobOutcome, PrepareOptions, PreparedEnvironment, RunnerConfig,
    ShellInfo, ShellKind, StageCell, StageCommand, StageResult, StageStatus, Workspace,
};
use process::{Ended, ExitStatus, Outcome, ProcessError, ProcessTree, Timing, TraceOutput};
use std::io;
use std::sync::Arc;

/// Runs the stages of one job, each as a shell in a process tree of its own.
///
/// [`provider`](crate::provider()) creates it. `prepare` creates the builds and cache directories, which are kept, and the
/// job's temporary directory, which `cleanup` removes.
#[derive(Debug)]
pub struct ShellExecutor {
    base: AbstractExecutor,
    host: Arc<Host>,
    prepared: Option<Prepared>,
}

/// The state after `prepare`.
#[derive(Debug)]
struct Prepared {
    shell: ShellInfo,
    tree: ProcessTree,
    files: StageFiles,
    terminal: Arc<ShellTerminal>,
    #[cfg(feature = "functions")]
    /// Runs stages of steps; started with the first of them.
    steps: Option<StepService>,
}

impl ShellExecutor {
    pub(crate) fn new(host: Arc<Host>) -> Self {
        let kind = if host.config.login {
            ShellKind::Login
        } else {
            ShellKind::Normal
        };
        let base = AbstractExecutor::new(AbstractExecutorOptions {
            default_builds_dir: host.config.builds_dir.clone(),
            default_cache_dir: host.config.cache_dir.clone(),
            shared_builds_dir: true,
            shell: ShellInfo::new(host.default_dialect).with_kind(kind),
            show_hostname: true,
        });
        Self {
            base,
            host,
            prepared: None,
        }
    }

    fn timing(&self, config: &RunnerConfig) -> Timing {
        Timing {
            terminate_grace: config.graceful_kill_timeout,
            kill_deadline: config.force_kill_timeout,
            pipe_grace: self.host.config.output_grace,
            ..Timing::default()
        }
    }
}

#[cfg(feature = "functions")]
impl Prepared {
    /// Runs a stage of steps.
    async fn run_steps(
        &mut self,
        host: &Host,
        command: &StageCommand,
        timing: Timing,
        io: StageIo<'_>,
    ) -> Result<StageResult, BuildError> {
        self.files.make_directory()?;
        self.files.note_variables(&command.variables)?;
        let directory = self.files.directory().to_owned();
        let steps = match &mut self.steps {
            Some(steps) => steps,
            none => none.insert(StepService::start(host, host.supervisor()?, &directory)?),
        };
        steps.run(command, &directory, timing, io).await
    }
}

#[async_trait::async_trait]
impl Executor for ShellExecutor {
    fn shell(&self) -> &ShellInfo {
        self.base.shell()
    }

    async fn prepare(
        &mut self,
        mut options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        cancellation.check()?;
        options.config = directories::on_this_host(options.config);
        let owns_project = options.project_dir.is_none();
        let dirs = directories::absolute(self.base.prepare(options)?)?;
        let shell = self.host.find_shell(self.base.shell())?;
        let supervisor = self.host.supervisor()?;
        let tree = supervisor.tree();
        let terminal = ShellTerminal::new(&self.host, &tree, &shell, &dirs);
        let files = StageFiles::new((&dirs.temp_dir).into(), supervisor);
        let prepared = self.prepared.insert(Prepared {
            shell,
            tree,
            files,
            terminal: Arc::new(terminal),
            #[cfg(feature = "functions")]
            steps: None,
        });
        directories::make_usable(&dirs, owns_project)?;
        prepared.files.make_directory()?;
        let mut environment = self.base.local_environment(&Host::name())?;
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
        let options = self.base.options()?;
        let timing = self.timing(&options.config);
        let trace = Arc::clone(&options.trace);
        let prepared = self.prepared.as_mut().ok_or_else(not_prepared)?;
        prepared.terminal.set_variables(&command.variables);
        if command.stage == BuildStage::StepRun {
            #[cfg(feature = "functions")]
            {
                let io = StageIo {
                    trace: &*trace,
                    cancellation,
                };
                return prepared.run_steps(&self.host, &command, timing, io).await;
            }
            #[cfg(not(feature = "functions"))]
            return Err(BuildError::config(
                "this program cannot run functions (`run`): it was built without the Cargo feature `functions`",
            ));
        }
        let script = prepared.files.write(&command, &prepared.shell)?;

        let shell_command =
            shells::ShellCommand::reading_file(&prepared.shell, &script.to_string_lossy());
        let environment = self
            .host
            .environment
            .with(&command.variables, prepared.files.directory());
        let process_command = process::Command::new(shell_command.program())
            .args(shell_command.arguments())
            .envs(environment)
            .current_dir(&command.working_dir);
        let mut output = TraceOutput(&*trace);
        let outcome = match prepared.tree.spawn(&process_command) {
            Ok(process) => process.run(&mut output, cancellation, &timing).await,
            Err(error) => Err(error),
        };
        prepared.files.remove_script(&script);
        stage_result(
            &outcome.map_err(|error| explain(error, &command))?,
            cancellation,
        )
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.base.finish(outcome);
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.base.cleanup();
        let Some(prepared) = &mut self.prepared else {
            return Ok(());
        };
        #[cfg(feature = "functions")]
        let served = match prepared.steps.take() {
            Some(steps) => steps.close().await,
            None => Ok(()),
        };
        let closed = prepared.tree.close().await;
        // Also after a failed close: a survivor only loses its files.
        let removed = prepared.files.remove().await;
        // If both failed, the surviving process is the reason.
        closed.map_err(ShellError::from)?;
        #[cfg(feature = "functions")]
        served?;
        Ok(removed?)
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
        let prepared = self.prepared.as_ref();
        let terminal = prepared.map(|it| Arc::clone(&it.terminal) as Arc<dyn Terminal>);
        Abilities {
            steps: None,
            terminal,
            file_transfer: None,
            port_proxy: None,
            suspend: None,
            resumable: None,
        }
    }
}

fn not_prepared() -> BuildError {
    BuildError::not_prepared("shell")
}

/// Returns the result of a stage; a stopped stage has none.
fn stage_result(outcome: &Outcome, cancellation: &Cancellation) -> Result<StageResult, BuildError> {
    if let Ended::Stopped { .. } = outcome.ended {
        return Err(BuildError::stopped("shell", cancellation));
    }
    let status = match outcome.status {
        ExitStatus::Exited(code) => StageStatus::Exited(ExitCode(code.into())),
        ExitStatus::Signaled { signal, .. } => StageStatus::Signaled { signal },
    };
    let [stdout_bytes, stderr_bytes] = outcome.bytes;
    Ok(StageResult {
        status,
        oom_killed: outcome.oom_killed,
        duration: outcome.elapsed,
        stdout_bytes,
        stderr_bytes,
        cpu_time: Some(outcome.usage.user + outcome.usage.system),
        peak_memory: Some(outcome.usage.max_resident),
    })
}

/// Replaces an error that the job's variables caused by one that names them.
fn explain(error: ProcessError, command: &StageCommand) -> ShellError {
    match &error {
        ProcessError::Spawn { source, .. }
            if source.kind() == io::ErrorKind::ArgumentListTooLong =>
        {
            let variables = command.variables.environment.iter();
            match variables.max_by_key(|(key, value)| key.len() + value.len()) {
                Some((key, value)) => ShellError::EnvironmentTooLarge {
                    key: key.clone(),
                    bytes: value.len(),
                },
                None => error.into(),
            }
        }
        _ => error.into(),
    }
}
