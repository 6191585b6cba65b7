//! A stage as a start of a container whose main process is the shell: GitLab Runner's way.

use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::job::container::attached;
use crate::job::container::execs::{Execs, Running};
use crate::job::container::watch::{ContainerEnd, current_end, end_of_run};
use crate::job::stage::feed::feed;
use crate::job::stage::helper::Helper;
use crate::job::stage::mark::new_mark;
use crate::job::stage::output::{StageOutput, cut, unread};
use crate::job::stage::signal::Signal;
use crate::job::stage::stage_run::{KILLED, SAME_KILL, Stage, Timing, seen_within, until};
use crate::job::stage::status;
use executor_core::{BuildError, Cancellation, Placement, StageResult};
use futures_util::StreamExt;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout};

/// What goes before the script. A first process is ended by no signal that it does not ask for.
const OBEY: &[u8] = b"trap 'exit 143' TERM\n";

/// How long after the end of its output a container may run. Its shell has that until it ends, and the engine notices the
/// end of a container a little later.
const LATE: Duration = Duration::from_secs(5);

/// Runs stages in two containers: the user's in that of the job, common work in a predefined one.
#[derive(Debug)]
pub(crate) struct AttachRunner {
    pub(crate) build: Execs,
    /// The image of the job.
    pub(crate) image: String,
    pub(crate) helper: Helper,
    pub(crate) timing: Timing,
    /// What may still run, or be about to start, for a stage that nobody waits for any more.
    pub(crate) doubtful: Option<Execs>,
}

/// Where the end of a stage stands.
#[derive(Debug, Default)]
struct Stopping {
    asked: bool,
    /// Whether the shell is still to be told to end: before it has begun it would not obey.
    untold: bool,
    kill_at: Option<Instant>,
    killed: bool,
    /// When nobody waits any longer.
    give_up_at: Option<Instant>,
}

impl AttachRunner {
    /// Runs a stage to its end.
    pub(crate) async fn run(&mut self, stage: Stage<'_>) -> Result<StageResult, BuildError> {
        let mark = new_mark();
        let mut text = OBEY.to_vec();
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
        self.doubtful = Some(container.clone());
        let starting = attached::start(&container, image);
        let started = unless_stopped(stage.cancellation, starting).await;
        if started.as_ref().is_err_and(is_refused) {
            self.doubtful = None;
        }
        let mut running = started?;
        let (end, stopped) = self
            .follow(&container, &mut running, text, output, stage)
            .await?;
        if matches!(end, ContainerEnd::Ended { .. } | ContainerEnd::Removed) {
            self.doubtful = None;
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
            return Err(unread(&container.name, code));
        }
        result.oom_killed = oom_killed
            || is_killed
                && status::ran_out_of_memory(&container.engine, &container.container, begun).await;
        // Whoever removes a container kills it first.
        let is_removed = |end: &ContainerEnd| *end == ContainerEnd::Removed;
        if is_killed
            && !result.oom_killed
            && let Some(end) = seen_within(SAME_KILL, &container, is_removed).await
        {
            return Err(end.error(&container.name));
        }
        Ok(Some(result))
    }

    /// Ends what an engine may have made of a stage that nobody waited for any more: a shell that waits for a script, or
    /// the end of its standard input. Both would be another stage's.
    async fn settle(&mut self, cancellation: &Cancellation) -> Result<(), DockerError> {
        if let Some(container) = &self.doubtful {
            let after = self.timing.kill_deadline;
            let ended = async {
                // What was attached ends with a run.
                if let Err(error) = attached::wake(container).await {
                    return Err(attached::explain(container, error).await);
                }
                attached::signal(container, "KILL").await?;
                // However it ended, it can be started again.
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
            self.doubtful = None;
        }
        Ok(())
    }

    /// Feeds the script and reads the output until the container has ended. Returns how it ended, and
    /// whether it was made to.
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
            // A shell that ended early reads no more; its exit code tells.
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
                // What has come is read before a deadline counts that passed meanwhile.
                biased;
                _ = stage.cancellation.canceled(), if !stopping.asked => {
                    stopping.asked = true;
                    stopping.untold = true;
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
                    // Nobody sees any longer what it does.
                    let _ = attached::signal(container, "KILL").await;
                    return Err(cut());
                }
            }
            if due(stopping.kill_at) && !stopping.killed {
                (stopping.kill_at, stopping.untold) = (None, false);
                stopping.killed = true;
                stopping.give_up_at = Some(now + self.timing.kill_deadline);
                attached::signal(container, "KILL").await?;
            }
            if stopping.untold && output.process().is_some() {
                stopping.untold = false;
                terminate(container).await?;
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

/// Returns whether an error is the engine's answer that nothing was started; any other leaves open what it did.
fn is_refused(error: &DockerError) -> bool {
    matches!(error, DockerError::Api { .. } | DockerError::Config { .. })
}

/// Asks the shell and all it started to end.
///
/// The engine tells the first process alone, which would wait for the others; so these are told by one
/// of their own, as GitLab Runner does it.
async fn terminate(container: &Execs) -> Result<(), DockerError> {
    match container.signal("sh", Signal::Terminate, "1").await {
        Ok(()) => Ok(()),
        Err(_) => attached::signal(container, "TERM").await,
    }
}
