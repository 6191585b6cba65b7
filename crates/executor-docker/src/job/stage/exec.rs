//! A stage as an exec of the shell in a container that waits.

use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::job::container::ended;
use crate::job::container::execs::{ExecPlan, Execs, Running};
use crate::job::container::watch::{ContainerEnd, current_end};
use crate::job::stage::feed::feed;
use crate::job::stage::mark::new_mark;
use crate::job::stage::output::{StageOutput, cut, unread};
use crate::job::stage::signal::Signal;
use crate::job::stage::stage_run::{Stage, Timing, until};
use crate::job::stage::status;
use executor_core::{BuildError, StageResult};
use futures_util::StreamExt;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often is asked whether the shell has ended while something else holds its output.
const ASK: Duration = Duration::from_millis(500);

/// How long after the end of the shell what was written before may come, however much it is.
const BACKLOG: Duration = Duration::from_secs(3);

/// How long after a stream broke the end of the container may show.
const SOON: Duration = Duration::from_secs(1);

/// Runs stages in one container.
#[derive(Debug)]
pub(crate) struct ExecRunner {
    pub(crate) execs: Execs,
    pub(crate) end: watch::Receiver<Option<ContainerEnd>>,
    /// The program of the shell.
    pub(crate) shell: String,
    pub(crate) timing: Timing,
}

/// Where the end of a stage stands.
#[derive(Debug, Default)]
struct Stopping {
    /// What was asked for and not yet sent, since the process is not known yet.
    pending: Option<Signal>,
    /// When it is killed.
    kill_at: Option<Instant>,
    /// When nobody waits any longer.
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
                // Nobody sees any longer what it does.
                if let (None, Some(process)) = (self.lost_now(), output.process()) {
                    let _ = self.signal(Signal::Kill, process).await;
                }
                return Err(BuildError::from(error).given_up());
            }
        };
        if stopped {
            // What the shell left behind of its tree goes with it.
            if let Some(process) = output.process().map(str::to_owned) {
                self.signal(Signal::Kill, &process).await?;
            }
            return Err(stage.stopped());
        }
        let code = match self.execs.exit_code(&running.id).await {
            Ok(Some(code)) => code,
            Ok(None) => {
                if let Some(process) = output.process().map(str::to_owned) {
                    self.signal(Signal::Kill, &process).await?;
                }
                return Err(BuildError::from(self.explain(cut()).await).given_up());
            }
            Err(error) => return Err(BuildError::from(self.explain(error).await).given_up()),
        };
        if code == 0 && output.process().is_none() {
            let error = self.explain(unread(&self.execs.name, code)).await;
            return Err(BuildError::from(error).given_up());
        }
        Ok(status::result_of(code, begun.elapsed(), output.bytes()))
    }

    /// Starts the shell, unless the container is lost meanwhile.
    async fn start(&self, plan: ExecPlan) -> Result<Running, DockerError> {
        let mut end = self.end.clone();
        let started = tokio::select! {
            started = self.execs.start(plan) => started,
            end = ended(&mut end) => return Err(end.error(&self.execs.name)),
        };
        match started {
            Ok(running) => Ok(running),
            // Whoever has lost the container says it in other words.
            Err(error) => Err(self.explain(error).await),
        }
    }

    /// Reads the output until its end. Returns whether the stage was made to stop.
    async fn follow(
        &mut self,
        running: &mut Running,
        text: Vec<u8>,
        output: &mut StageOutput<'_>,
        stage: &Stage<'_>,
    ) -> Result<bool, DockerError> {
        let mut stopping = Stopping::default();
        let mut end = self.end.clone();
        // When the shell was found to have ended, and when something was read last.
        let (mut ended_at, mut read_at) = (None::<Instant>, Instant::now());
        let mut quiet_at: Option<Instant> = None;
        let input = &mut running.input;
        let feeding = async {
            // A shell that ended early reads no more; its exit code tells.
            let _ = input.write_all(&text).await;
            let _ = input.shutdown().await;
        };
        // Beside all else: an engine that does not answer keeps nobody from what comes meanwhile.
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
                // What has come is read before a deadline counts that passed meanwhile.
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

    /// Returns when what the shell wrote counts as read.
    fn drained_at(&self, ended_at: Option<Instant>, read_at: Instant) -> Option<Instant> {
        let ended = ended_at?;
        let last = ended.max(read_at) + self.timing.pipe_grace;
        Some(last.min(ended + BACKLOG))
    }

    /// Returns when the shell is known to have ended.
    async fn ended_shell(&self, exec: &str) {
        loop {
            sleep(ASK).await;
            if self.execs.has_ended(exec).await {
                return;
            }
        }
    }

    /// Ends the tree of a process; where the container is gone, so is the process.
    async fn signal(&self, signal: Signal, process: &str) -> Result<(), DockerError> {
        let sent = self.execs.signal(&self.shell, signal, process).await;
        match sent {
            Err(error) if self.end.borrow().is_none() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns why the container is lost, if it is known now.
    fn lost_now(&self) -> Option<DockerError> {
        let end = self.end.borrow().clone();
        end.map(|end| end.error(&self.execs.name))
    }

    /// Returns why the container is lost, if that shows soon after the stream to it broke.
    async fn lost_soon(&self) -> Option<DockerError> {
        let mut end = self.end.clone();
        let end = match tokio::time::timeout(SOON, ended(&mut end)).await {
            Ok(end) => Some(end),
            Err(_) => current_end(&self.execs.engine, &self.execs.container).await,
        };
        end.map(|end| end.error(&self.execs.name))
    }

    /// Tells that the container is lost, where that is the reason of an error.
    async fn explain(&self, error: DockerError) -> DockerError {
        self.lost_soon().await.unwrap_or(error)
    }
}
