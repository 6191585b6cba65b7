//! Runs a stage as a start of a container whose main process is the shell, as GitLab Runner does.

use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::job::container::attached;
use crate::job::container::execs::{Execs, Running};
use crate::job::container::watch::{ContainerEnd, current_end, end_of_run};
use crate::job::stage::helper::Helper;
use crate::job::stage::mark::new_mark;
use crate::job::stage::output::{StageOutput, output_lost, script_not_read};
use crate::job::stage::signal::Signal;
use crate::job::stage::stage_run::{KILLED, SAME_KILL, Stage, Timing, seen_within, until};
use crate::job::stage::status;
use executor_core::{BuildError, Cancellation, Placement, StageResult};
use futures_util::StreamExt;
use shells::feed;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout};

/// Precedes the script. Signals without a handler do not end the first process of a container.
const TRAP_TERM: &[u8] = b"trap 'exit 143' TERM\n";

/// How long after the end of its output a container may run: the shell holds the output until it ends, and the engine
/// notices the end a little later.
const LATE: Duration = Duration::from_secs(5);

/// Runs stages of the user in the job's container, those of the runner in the helper container.
#[derive(Debug)]
pub(crate) struct AttachRunner {
    pub(crate) build: Execs,
    /// The image of the job.
    pub(crate) image: String,
    pub(crate) helper: Helper,
    pub(crate) timing: Timing,
    /// The container in which an abandoned stage may still run or start.
    pub(crate) unsettled: Option<Execs>,
}

/// The progress of a stop.
#[derive(Debug, Default)]
struct Stopping {
    asked: bool,
    /// Whether TERM is still to be sent: a shell that has not started would ignore it.
    term_pending: bool,
    kill_at: Option<Instant>,
    killed: bool,
    /// When the wait ends.
    give_up_at: Option<Instant>,
}

impl AttachRunner {
    /// Runs a stage to its end.
    pub(crate) async fn run(&mut self, stage: Stage<'_>) -> Result<StageResult, BuildError> {
        let mark = new_mark();
        let mut text = TRAP_TERM.to_vec();
        text.extend(feed(stage.command, stage.temp_dir, &mark)?);
        let mut output = StageOutput::new(stage.trace, mark);
        let ran = self.start_and_follow(text, &mut output, &stage).await;
        output.finish();
        match ran.map_err(|error| BuildError::from(error).given_up())? {
            Some(result) => Ok(result),
            None => Err(stage.stopped()),
        }
    }

    /// Returns `None` where the stage was made to stop.
    async fn start_and_follow(
        &mut self,
        text: Vec<u8>,
        output: &mut StageOutput<'_>,
        stage: &Stage<'_>,
    ) -> Result<Option<StageResult>, DockerError> {
        self.settle(stage.cancellation).await?;
        let (container, image) = match stage.command.placement {
            Placement::User => (self.build.clone(), self.image.as_str()),
            Placement::Helper => (
                self.helper.container(stage.cancellation).await?,
                self.helper.image(),
            ),
        };
        let begun = Instant::now();
        self.unsettled = Some(container.clone());
        let starting = attached::start(&container, image);
        let started = unless_stopped(stage.cancellation, starting).await;
        if started.as_ref().is_err_and(is_refused) {
            self.unsettled = None;
        }
        let mut running = started?;
        let (end, stopped) = self
            .follow(&container, &mut running, text, output, stage)
            .await?;
        if matches!(end, ContainerEnd::Ended { .. } | ContainerEnd::Removed) {
            self.unsettled = None;
        }
        let ContainerEnd::Ended {
            code, oom_killed, ..
        } = end
        else {
            return Err(end.error(&container.name));
        };
        if stopped {
            return Ok(None);
        }
        let mut result = status::result_of(code, begun.elapsed(), output.bytes());
        let is_killed = result.status.exit_code() == KILLED;
        if !is_killed && output.process().is_none() {
            return Err(script_not_read(&container.name, code));
        }
        let mut may_be_removed = false;
        result.oom_killed = oom_killed;
        if is_killed && !oom_killed {
            (result.oom_killed, may_be_removed) = tokio::join!(
                status::ran_out_of_memory(&container.engine, &container.container, begun),
                // The engine kills a container before it removes it.
                status::was_signaled(&container, begun)
            );
        }
        let is_removed = |end: &ContainerEnd| *end == ContainerEnd::Removed;
        if may_be_removed
            && !result.oom_killed
            && let Some(end) = seen_within(SAME_KILL, &container, is_removed).await
        {
            return Err(end.error(&container.name));
        }
        Ok(Some(result))
    }

    /// Ends the shell of an abandoned stage, which would read the script or the end of input of the next stage.
    async fn settle(&mut self, cancellation: &Cancellation) -> Result<(), DockerError> {
        if let Some(container) = &self.unsettled {
            let after = self.timing.kill_deadline;
            let ended = async {
                // An attachment ends with its run.
                if let Err(error) = attached::wake(container).await {
                    return Err(attached::explain(container, error).await);
                }
                attached::signal(container, "KILL").await?;
                // After any end the container can be started again.
                let ending = end_of_run(&container.engine, &container.container);
                match timeout(after, ending).await {
                    Ok(_) => Ok(()),
                    Err(_) => Err(DockerError::Deadline {
                        doing: format!("wait for the end of container {}", container.name),
                        after,
                    }),
                }
            };
            unless_stopped(cancellation, ended).await?;
            self.unsettled = None;
        }
        Ok(())
    }

    /// Writes the script and reads the output until the container has ended. Returns the end, and whether it was
    /// requested.
    async fn follow(
        &self,
        container: &Execs,
        running: &mut Running,
        text: Vec<u8>,
        output: &mut StageOutput<'_>,
        stage: &Stage<'_>,
    ) -> Result<(ContainerEnd, bool), DockerError> {
        let Running {
            input,
            output: pieces,
            ..
        } = running;
        let feeding = async {
            // A shell that ended early stops reading; its exit code is the result.
            let _ = input.write_all(&text).await;
            let _ = input.shutdown().await;
        };
        let ending = end_of_run(&container.engine, &container.container);
        tokio::pin!(feeding, ending);
        let mut stopping = Stopping::default();
        let (mut fed, mut is_read, mut end) = (false, false, None);
        let (mut drained_at, mut quiet_at): (Option<Instant>, Option<Instant>) = (None, None);
        let mut cut_at = None;
        loop {
            if let Some(end) = end.take_if(|_| is_read) {
                return Ok((end, stopping.asked));
            }
            let Stopping {
                kill_at,
                give_up_at,
                ..
            } = stopping;
            let deadline = [kill_at, give_up_at, drained_at, quiet_at, cut_at];
            let deadline = deadline.into_iter().flatten().min();
            tokio::select! {
                // Output that has arrived goes before a deadline that passed meanwhile.
                biased;
                _ = stage.cancellation.canceled(), if !stopping.asked => {
                    stopping.asked = true;
                    stopping.term_pending = true;
                    stopping.kill_at = Some(Instant::now() + self.timing.terminate_grace);
                }
                _ = stage.cancellation.aborted(), if !stopping.killed => {
                    stopping.asked = true;
                    stopping.kill_at = Some(Instant::now());
                }
                ended = &mut ending, if end.is_none() => {
                    end = Some(ended);
                    drained_at = Some(Instant::now() + self.timing.pipe_grace);
                }
                () = &mut feeding, if !fed => fed = true,
                piece = pieces.next(), if !is_read => if let Some(Ok(piece)) = piece {
                    output.take(&piece);
                    let now = Instant::now();
                    quiet_at = Some(now + self.timing.idle_after);
                    drained_at = drained_at.map(|_| now + self.timing.pipe_grace);
                } else {
                    is_read = true;
                    cut_at = Some(Instant::now() + LATE);
                },
                () = until(deadline) => {}
            }
            let now = Instant::now();
            let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            if due(quiet_at) {
                output.idle();
                quiet_at = None;
            }
            is_read |= due(drained_at);
            if due(cut_at) {
                cut_at = None;
                let goes_on = current_end(&container.engine, &container.container)
                    .await
                    .is_none();
                if goes_on && !stopping.asked {
                    // Its output cannot be seen any more.
                    let _ = attached::signal(container, "KILL").await;
                    return Err(output_lost());
                }
            }
            if due(stopping.kill_at) && !stopping.killed {
                (stopping.kill_at, stopping.term_pending) = (None, false);
                stopping.killed = true;
                attached::signal(container, "KILL").await?;
                stopping.give_up_at = Some(Instant::now() + self.timing.kill_deadline);
            }
            if stopping.term_pending && output.process().is_some() {
                stopping.term_pending = false;
                terminate(container).await?;
                // The grace period begins when the signal is delivered.
                stopping.kill_at = Some(Instant::now() + self.timing.terminate_grace);
            }
            if due(stopping.give_up_at) {
                return Err(DockerError::Deadline {
                    doing: "kill the processes of the stage".to_owned(),
                    after: self.timing.kill_deadline,
                });
            }
        }
    }
}

/// Returns whether the engine refused the start. Any other error leaves the outcome unknown.
fn is_refused(error: &DockerError) -> bool {
    matches!(error, DockerError::Api { .. } | DockerError::Config { .. })
}

/// Sends TERM to the shell and its descendants.
///
/// The engine signals the first process alone, which would wait for the others. An exec signals them, as in GitLab
/// Runner.
async fn terminate(container: &Execs) -> Result<(), DockerError> {
    match container.signal("sh", Signal::Terminate, "1").await {
        Ok(()) => Ok(()),
        Err(_) => attached::signal(container, "TERM").await,
    }
}
