//! Runs a stage as an exec of the shell in a waiting container.

use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::job::container::ended;
use crate::job::container::execs::{ExecPlan, Execs, Running};
use crate::job::container::watch::{ContainerEnd, current_end, is_paused, wait_until_unpaused};
use crate::job::stage::mark::new_mark;
use crate::job::stage::output::{StageOutput, output_lost, script_not_read};
use crate::job::stage::signal::Signal;
use crate::job::stage::stage_run::{Stage, Timing, until};
use crate::job::stage::status;
use executor_core::{BuildError, StageResult};
use futures_util::StreamExt;
use shells::feed;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often the engine is asked whether the shell has ended while another process holds its output.
const ASK: Duration = Duration::from_millis(500);

/// How long after the end of the shell earlier output is read.
const BACKLOG: Duration = Duration::from_secs(3);

/// The exit code that Docker reports when it cannot write the output of an exec any more.
const NOT_PASSED_ON: i64 = 126;

/// How long after a stream broke the end of the container may become visible.
const SOON: Duration = Duration::from_secs(1);

/// Runs stages in one container.
#[derive(Debug)]
pub(crate) struct ExecRunner {
    /// Why an automatic choice is not the agent.
    pub(crate) agent_unavailable: Option<String>,
    pub(crate) execs: Execs,
    pub(crate) end: watch::Receiver<Option<ContainerEnd>>,
    /// The program of the shell.
    pub(crate) shell: String,
    pub(crate) timing: Timing,
}

/// The progress of a stop.
#[derive(Debug, Default)]
struct Stopping {
    /// The signal to send once the process is known.
    pending: Option<Signal>,
    /// When the stage is killed.
    kill_at: Option<Instant>,
    /// When the wait ends.
    give_up_at: Option<Instant>,
    asked: bool,
    killed: bool,
}

impl ExecRunner {
    /// Runs a stage to its end.
    pub(crate) async fn run(&mut self, stage: Stage<'_>) -> Result<StageResult, BuildError> {
        let mark = new_mark();
        let text = feed(stage.command, stage.temp_dir, &mark)?;
        let begun = Instant::now();
        let plan = ExecPlan {
            command: vec![self.shell.clone()],
            directory: Some(stage.command.working_dir.clone()),
            with_input: true,
            ..ExecPlan::default()
        };
        let starting = self.start(plan);
        let running = unless_stopped(stage.cancellation, starting).await;
        let mut running = running.map_err(|error| BuildError::from(error).given_up())?;
        let mut output = StageOutput::new(stage.trace, mark);
        let followed = self.follow(&mut running, text, &mut output, &stage).await;
        output.finish();
        let stopped = match followed {
            Ok(stopped) => stopped,
            Err(error) => {
                // Its output cannot be seen any more.
                if let (None, Some(process)) = (self.lost_now(), output.process()) {
                    let _ = self.signal(Signal::Kill, process).await;
                }
                return Err(BuildError::from(error).given_up());
            }
        };
        if stopped {
            // Remaining descendants of the shell end with it.
            if let Some(process) = output.process().map(str::to_owned) {
                self.signal(Signal::Kill, &process).await?;
            }
            return Err(stage.stopped());
        }
        let code = self.exit_code(&running.id, &output, begun).await;
        let code = code.map_err(|error| BuildError::from(error).given_up())?;
        Ok(status::result_of(code, begun.elapsed(), output.bytes()))
    }

    /// Starts the shell, unless the container is lost meanwhile. Waits while the container is paused.
    async fn start(&self, plan: ExecPlan) -> Result<Running, DockerError> {
        let mut end = self.end.clone();
        let Execs {
            engine, container, ..
        } = &self.execs;
        let starting = async {
            loop {
                match self.execs.start(plan.clone()).await {
                    Err(error) if error.is_conflict() && is_paused(engine, container).await => {
                        wait_until_unpaused(engine, container).await;
                    }
                    started => return started,
                }
            }
        };
        let started = tokio::select! {
            started = starting => started,
            end = ended(&mut end) => return Err(end.error(&self.execs.name)),
        };
        match started {
            Ok(running) => Ok(running),
            // A lost container shows as various errors.
            Err(error) => Err(self.explain(error).await),
        }
    }

    /// Returns the exit code of the shell after the end of its output. Ends a script whose output is lost.
    async fn exit_code(
        &self,
        exec: &str,
        output: &StageOutput<'_>,
        begun: Instant,
    ) -> Result<i64, DockerError> {
        match self.execs.exit_code(exec).await {
            Ok(Some(code @ 0)) if output.process().is_none() => {
                return Err(self.explain(script_not_read(&self.execs.name, code)).await);
            }
            Ok(Some(NOT_PASSED_ON)) if self.runs_on(exec, output, begun).await => {}
            Ok(Some(code)) => return Ok(code),
            Ok(None) => {}
            Err(error) => return Err(self.explain(error).await),
        }
        if let Some(process) = output.process() {
            self.signal(Signal::Kill, process).await?;
        }
        Err(self.explain(output_lost()).await)
    }

    /// Returns whether the script runs although the engine reports an exit code.
    async fn runs_on(&self, exec: &str, output: &StageOutput<'_>, begun: Instant) -> bool {
        let engine = &self.execs.engine;
        // The shell had started. Podman reports the exit codes of processes alone.
        output.process().is_some()
            && engine.version().name != "Podman"
            && !status::exec_has_died(&self.execs, exec, begun).await
    }

    /// Reads the output until its end. Returns whether a stop was requested.
    async fn follow(
        &mut self,
        running: &mut Running,
        text: Vec<u8>,
        output: &mut StageOutput<'_>,
        stage: &Stage<'_>,
    ) -> Result<bool, DockerError> {
        let mut stopping = Stopping::default();
        let mut end = self.end.clone();
        // When the shell was found ended, and when output was read last.
        let (mut ended_at, mut read_at) = (None::<Instant>, Instant::now());
        let mut quiet_at: Option<Instant> = None;
        let input = &mut running.input;
        let feeding = async {
            // A shell that ended early stops reading; its exit code is the result.
            let _ = input.write_all(&text).await;
            let _ = input.shutdown().await;
        };
        // Concurrent, so that a slow engine does not delay the output.
        let asking = self.ended_shell(&running.id);
        tokio::pin!(feeding, asking);
        let mut fed = false;
        loop {
            let drained_at = self.drained_at(ended_at, read_at);
            let deadline = [stopping.kill_at, stopping.give_up_at, drained_at, quiet_at]
                .into_iter()
                .flatten()
                .min();
            tokio::select! {
                // Output that has arrived goes before a deadline that passed meanwhile.
                biased;
                _ = stage.cancellation.canceled(), if !stopping.asked => {
                    stopping.asked = true;
                    stopping.pending = Some(Signal::Terminate);
                    stopping.kill_at = Some(Instant::now() + self.timing.terminate_grace);
                }
                _ = stage.cancellation.aborted(), if !stopping.killed => {
                    stopping.asked = true;
                    stopping.kill_at = Some(Instant::now());
                }
                _ = ended(&mut end), if ended_at.is_none() => ended_at = Some(Instant::now()),
                () = &mut asking, if ended_at.is_none() => ended_at = Some(Instant::now()),
                () = &mut feeding, if !fed => fed = true,
                piece = running.output.next() => match piece {
                    Some(Ok(piece)) => {
                        output.take(&piece);
                        let now = Instant::now();
                        quiet_at = Some(now + self.timing.idle_after);
                        read_at = now;
                    }
                    Some(Err(error)) => {
                        let error = DockerError::from_api("follow the output of the stage", error);
                        return Err(self.explain(error).await);
                    }
                    None => break,
                },
                () = until(deadline) => {}
            }
            let now = Instant::now();
            let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            if due(quiet_at) {
                output.idle();
                quiet_at = None;
            }
            if due(stopping.kill_at) {
                stopping.kill_at = None;
                stopping.killed = true;
                stopping.pending = Some(Signal::Kill);
                stopping.give_up_at = Some(now + self.timing.kill_deadline);
            }
            if let (Some(signal), Some(process)) = (stopping.pending, output.process()) {
                stopping.pending = None;
                let process = process.to_owned();
                self.signal(signal, &process).await?;
                // Both periods begin when the signal is delivered.
                let now = Instant::now();
                if stopping.killed {
                    stopping.give_up_at = Some(now + self.timing.kill_deadline);
                } else {
                    stopping.kill_at = Some(now + self.timing.terminate_grace);
                }
            }
            if due(self.drained_at(ended_at, read_at)) {
                break;
            }
            if due(stopping.give_up_at) {
                return Err(DockerError::Deadline {
                    doing: "kill the processes of the stage".to_owned(),
                    after: self.timing.kill_deadline,
                });
            }
        }
        if let Some(lost) = self.lost_now() {
            return Err(lost);
        }
        Ok(stopping.asked)
    }

    /// Returns when the output of the shell counts as complete.
    fn drained_at(&self, ended_at: Option<Instant>, read_at: Instant) -> Option<Instant> {
        let ended = ended_at?;
        let last = ended.max(read_at) + self.timing.pipe_grace;
        Some(last.min(ended + BACKLOG))
    }

    /// Returns as soon as the shell has ended.
    async fn ended_shell(&self, exec: &str) {
        loop {
            sleep(ASK).await;
            if self.execs.has_ended(exec).await {
                return;
            }
        }
    }

    /// Signals the tree of a process; a missing container is not an error.
    async fn signal(&self, signal: Signal, process: &str) -> Result<(), DockerError> {
        let sent = self.execs.signal(&self.shell, signal, process).await;
        match sent {
            Err(error) if self.end.borrow().is_none() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the loss of the container, if it is known now.
    fn lost_now(&self) -> Option<DockerError> {
        let end = self.end.borrow().clone();
        end.map(|end| end.error(&self.execs.name))
    }

    /// Returns the loss of the container, if it becomes visible soon after a broken stream.
    async fn lost_soon(&self) -> Option<DockerError> {
        let mut end = self.end.clone();
        let end = match tokio::time::timeout(SOON, ended(&mut end)).await {
            Ok(end) => Some(end),
            Err(_) => current_end(&self.execs.engine, &self.execs.container).await,
        };
        end.map(|end| end.error(&self.execs.name))
    }

    /// Returns the loss of the container as the reason of an error, or else the error.
    async fn explain(&self, error: DockerError) -> DockerError {
        self.lost_soon().await.unwrap_or(error)
    }
}
