//! One script: its output, its stop, and its continuation in another driver process.

use crate::call::{Call, Event, parse};
use crate::error::DriverError;
use crate::held::Held;
use crate::message::{Follow, OutputStream, RunEnded, Signal};
use executor_core::{
    BuildError, ExitCode, JobTrace, RunnerConfig, StageIo, StageResult, StageStatus, TraceStream,
};
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep};

/// Silence after which a partial line is shown.
const IDLE_AFTER: Duration = Duration::from_millis(100);

/// How many driver processes in a row may die without any output of the script before the runner gives up.
const FRUITLESS: u32 = 3;

/// A running script.
#[derive(Debug)]
pub(crate) struct RunningScript<'a> {
    pub(crate) environment: &'a Held,
    pub(crate) run: &'a str,
    pub(crate) config: &'a RunnerConfig,
    pub(crate) call: Call,
}

/// How the script is being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    Terminating,
    Killing,
}

/// What arrived so far.
#[derive(Debug, Default)]
struct Progress {
    stdout: u64,
    stderr: u64,
}

impl RunningScript<'_> {
    /// Passes the output on and returns the result.
    pub(crate) async fn follow(mut self, io: StageIo<'_>) -> Result<StageResult, BuildError> {
        let started = Instant::now();
        let mut progress = Progress::default();
        let mut phase = Phase::Running;
        let mut shown = true;
        let mut fruitless = 0;
        let mut deadline = pin!(sleep(Duration::MAX));
        let mut idle = pin!(sleep(Duration::MAX));
        let cancellation = io.cancellation;
        loop {
            tokio::select! {
                // An abort must not be taken for a cancel that was requested with it.
                biased;
                _ = cancellation.aborted(), if phase < Phase::Killing => {
                    phase = Phase::Killing;
                    self.call.stop(Signal::Kill);
                    arm(deadline.as_mut(), self.config.force_kill_timeout);
                }
                _ = cancellation.canceled(), if phase < Phase::Terminating => {
                    phase = Phase::Terminating;
                    self.call.stop(Signal::Term);
                    arm(deadline.as_mut(), self.config.graceful_kill_timeout);
                }
                () = &mut deadline, if phase != Phase::Running => {
                    if phase == Phase::Killing {
                        return Err(DriverError::Unkillable(self.config.force_kill_timeout).into());
                    }
                    phase = Phase::Killing;
                    self.call.stop(Signal::Kill);
                    arm(deadline.as_mut(), self.config.force_kill_timeout);
                }
                event = self.call.event() => match event {
                    Ok(Event::Output(stream, bytes)) => {
                        io.trace.write(stream.into(), &bytes);
                        progress.add(stream, bytes.len());
                        self.call.consumed(bytes.len());
                        fruitless = 0;
                        shown = false;
                        arm(idle.as_mut(), IDLE_AFTER);
                    }
                    Ok(Event::Result(value)) => {
                        let ended: RunEnded = parse("run", value)?;
                        if phase != Phase::Running {
                            return Err(BuildError::stopped("driver", cancellation));
                        }
                        return progress.result(&ended, started.elapsed());
                    }
                    Ok(Event::Data(_) | Event::Ack(_)) => {}
                    Err(error) if error.is_end() && self.environment.can_reconnect && fruitless < FRUITLESS => {
                        fruitless += 1;
                        self.reconnect(&progress, phase).await?;
                    }
                    Err(_) if phase != Phase::Running => {
                        return Err(BuildError::stopped("driver", cancellation));
                    }
                    // The script has started, so nothing starts it again.
                    Err(error) => return Err(BuildError::from(error).given_up()),
                },
                () = &mut idle, if !shown => {
                    shown = true;
                    show_partial_lines(io.trace);
                }
            }
        }
    }

    /// Follows the script in another driver process, which neither starts nor restarts it.
    async fn reconnect(&mut self, progress: &Progress, phase: Phase) -> Result<(), BuildError> {
        tracing::warn!(
            run = self.run,
            "The driver has ended; following its script in a new one."
        );
        let follow = async {
            let connection = self.environment.connection().await?;
            let params = Follow {
                environment: &self.environment.name,
                run: self.run,
                stdout: progress.stdout,
                stderr: progress.stderr,
            };
            let environment = &self.environment.name;
            connection
                .call_for(environment, "follow", params, &[])
                .await
        };
        self.call = follow
            .await
            .map_err(|error| BuildError::from(error).given_up())?;
        match phase {
            Phase::Running => {}
            Phase::Terminating => self.call.stop(Signal::Term),
            Phase::Killing => self.call.stop(Signal::Kill),
        }
        Ok(())
    }
}

impl Progress {
    fn add(&mut self, stream: OutputStream, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        match stream {
            OutputStream::Stdout => self.stdout += bytes,
            OutputStream::Stderr => self.stderr += bytes,
        }
    }

    fn result(&self, ended: &RunEnded, duration: Duration) -> Result<StageResult, BuildError> {
        let status = match (ended.exit_code, ended.signal) {
            (_, Some(signal)) if signal != 0 => StageStatus::Signaled { signal },
            (Some(code), _) => StageStatus::Exited(ExitCode(code)),
            (None, _) => {
                let why = "neither `exit_code` nor `signal`".to_owned();
                return Err(DriverError::Answer { call: "run", why }.into());
            }
        };
        Ok(StageResult {
            oom_killed: ended.oom_killed,
            duration,
            stdout_bytes: self.stdout,
            stderr_bytes: self.stderr,
            ..StageResult::new(status)
        })
    }
}

fn show_partial_lines(trace: &dyn JobTrace) {
    trace.idle(TraceStream::STDOUT);
    trace.idle(TraceStream::STDERR);
}

/// Sets a timer; a time beyond the range of the clock means never.
fn arm(timer: std::pin::Pin<&mut Sleep>, after: Duration) {
    let never = Duration::from_hours(24 * 365);
    timer.reset(tokio::time::Instant::now() + after.min(never));
}
