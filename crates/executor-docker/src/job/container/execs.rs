//! Starts processes in a running container.

use crate::engine::Engine;
use crate::error::DockerError;
use crate::job::container::watch::{is_paused, unpause};
use crate::job::stage::signal::{self, Signal};
use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use fail_point::fail_point;
use futures_util::{Stream, StreamExt};
use std::fmt;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::AsyncWrite;
use tokio::time::{Instant, sleep};

/// How much output of a command is kept: the image chooses the program.
const MOST_OUTPUT: usize = 64 << 10;

/// The time limit for the state of a process, or for a signal.
const ANSWER: Duration = Duration::from_secs(10);
/// How long after the end of its output a process may run.
const END: Duration = Duration::from_secs(5);
/// The size of the buffer for output.
const BUFFER: usize = 128 * 1024;

/// The output of a process.
pub(crate) type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

/// A container in which processes are started.
#[derive(Debug, Clone)]
pub(crate) struct Execs {
    pub(crate) engine: Engine,
    /// The container's id.
    pub(crate) container: String,
    /// The container's name.
    pub(crate) name: String,
}

/// A process to start.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExecPlan {
    pub(crate) command: Vec<String>,
    /// The working directory; `None` is that of the container.
    pub(crate) directory: Option<String>,
    /// Whether it has standard input.
    pub(crate) with_input: bool,
    /// Whether it has a terminal.
    pub(crate) at_terminal: bool,
    /// More variables, none of them secret.
    pub(crate) environment: Vec<String>,
}

/// A process that was started.
pub(crate) struct Running {
    /// The engine's id of it.
    pub(crate) id: String,
    pub(crate) output: Output,
    pub(crate) input: Pin<Box<dyn AsyncWrite + Send>>,
}

impl Execs {
    /// Starts a process.
    pub(crate) async fn start(&self, plan: ExecPlan) -> Result<Running, DockerError> {
        let at_terminal = plan.at_terminal;
        let options = CreateExecOptions {
            attach_stdin: Some(plan.with_input),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(at_terminal),
            cmd: Some(plan.command),
            working_dir: plan.directory,
            env: Some(plan.environment),
            ..CreateExecOptions::default()
        };
        let doing = || format!("run a command in container {}", self.name);
        let created = fail_point!(
            "executor_docker::exec::create",
            self.engine
                .api()
                .create_exec(&self.container, options)
                .await
        );
        let id = created
            .map_err(|error| DockerError::from_api(doing(), error))?
            .id;
        let options = StartExecOptions {
            output_capacity: Some(BUFFER),
            tty: at_terminal,
            ..StartExecOptions::default()
        };
        let started = fail_point!(
            "executor_docker::exec::start",
            self.engine.api().start_exec(&id, Some(options)).await
        );
        match started.map_err(|error| DockerError::from_api(doing(), error))? {
            StartExecResults::Attached { output, input } => Ok(Running { id, output, input }),
            StartExecResults::Detached => Err(DockerError::config("the exec has no output")),
        }
    }

    /// Sends a signal to the tree of a process, as the container's user: with `no_new_privileges`, an exec as root has no
    /// more rights. A paused container is unpaused for it.
    pub(crate) async fn signal(
        &self,
        shell: &str,
        signal: Signal,
        process: &str,
    ) -> Result<(), DockerError> {
        let send = || self.finish(signal::command(shell, signal, process), ANSWER);
        match send().await {
            Err(error) if error.is_conflict() && is_paused(&self.engine, &self.container).await => {
                unpause(&self.engine, &self.container).await;
                send().await
            }
            answer => answer,
        }
    }

    /// Runs a command to the end of its output, as the container's user.
    pub(crate) async fn finish(
        &self,
        command: Vec<String>,
        within: Duration,
    ) -> Result<(), DockerError> {
        self.output(command, within).await.map(drop)
    }

    /// Runs a command to the end of its output as the container's user. Returns the first [`MOST_OUTPUT`] bytes of it.
    pub(crate) async fn output(
        &self,
        command: Vec<String>,
        within: Duration,
    ) -> Result<Vec<u8>, DockerError> {
        let run = async {
            let plan = ExecPlan {
                command,
                ..ExecPlan::default()
            };
            let mut running = self.start(plan).await?;
            let mut output = Vec::new();
            while let Some(Ok(piece)) = running.output.next().await {
                let piece = piece.as_ref();
                let room = MOST_OUTPUT - output.len();
                output.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            Ok(output)
        };
        match tokio::time::timeout(within, run).await {
            Ok(ran) => ran,
            Err(_) => Err(DockerError::Deadline {
                doing: format!("run a command in container {}", self.name),
                after: within,
            }),
        }
    }

    /// Returns whether a process is known to have ended.
    pub(crate) async fn has_ended(&self, exec: &str) -> bool {
        let asked = tokio::time::timeout(ANSWER, self.engine.api().inspect_exec(exec)).await;
        matches!(asked, Ok(Ok(found)) if found.running == Some(false))
    }

    /// Returns the exit code of a process whose output has ended; `None` when it still runs.
    pub(crate) async fn exit_code(&self, exec: &str) -> Result<Option<i64>, DockerError> {
        let begun = Instant::now();
        let doing = || "read the exit code of the stage".to_owned();
        loop {
            let asked = tokio::time::timeout(ANSWER, self.engine.api().inspect_exec(exec)).await;
            let Ok(asked) = asked else {
                return Err(DockerError::Deadline {
                    doing: doing(),
                    after: ANSWER,
                });
            };
            match asked.map_err(|error| DockerError::from_api(doing(), error)) {
                Ok(found) => {
                    if let (Some(false), Some(code)) = (found.running, found.exit_code) {
                        return Ok(Some(code));
                    }
                    if begun.elapsed() > END {
                        return Ok(None);
                    }
                }
                // The request can be repeated.
                Err(error) if error.is_temporary() && begun.elapsed() < ANSWER => {}
                Err(error) => return Err(error),
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
