//! A started process and the wait for its end.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::time::{Duration, Instant};

use executor_core::StopLevel;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Sleep, sleep};

use crate::children;
use crate::command::Stdin;
use crate::error::ProcessError;
use crate::pump::Pump;
use crate::scope::Scope;
use crate::sink::OutputSink;
use crate::status::{Ended, ExitStatus, Outcome, Usage};
use crate::stop::StopSignal;
use crate::sys::{OurStdio, Started, reap};

/// How often adopted orphans are collected while a process runs.
const COLLECT_EVERY: Duration = Duration::from_secs(1);

/// A running process with its descendants.
///
/// [`run`](Self::run) waits for its end. Dropping it, also by dropping that future, kills it and its descendants,
/// without waiting.
#[derive(Debug)]
pub struct Process {
    child: Child,
    program: String,
    stdin: Option<Sender>,
    input: Vec<u8>,
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    scope: Scope,
    started: Instant,
}

/// The timeouts of [`Process::run`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The time from SIGTERM to SIGKILL. Default: 10 s; GitLab Runner's is 10 min.
    pub terminate_grace: Duration,
    /// How long a background process may keep the output open after the end of the main process, before the pipe is
    /// closed. Default: 1 s.
    pub pipe_grace: Duration,
    /// How long a killed process may take to die before that is an error. Default: 10 s.
    pub kill_deadline: Duration,
    /// Silence after which [`OutputSink::idle`] is called. Default: 100 ms.
    pub idle_after: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            terminate_grace: Duration::from_secs(10),
            pipe_grace: Duration::from_secs(1),
            kill_deadline: Duration::from_secs(10),
            idle_after: Duration::from_millis(100),
        }
    }
}

impl Process {
    pub(crate) fn new(
        program: String,
        started: Started,
        stdio: OurStdio,
        input: &Stdin,
        scope: Scope,
    ) -> Result<Self, ProcessError> {
        let at = Instant::now();
        let pid = started.pid;
        let child = Child {
            pid,
            pidfd: None,
            collected: false,
        };
        let mut process = Self {
            child,
            program,
            stdin: None,
            input: Vec::new(),
            stdout: None,
            stderr: None,
            scope,
            started: at,
        };
        // From here on an error drops the process, which kills the child.
        process
            .open(started.pidfd, stdio, input)
            .map_err(|source| process.wait_error(source))?;
        Ok(process)
    }

    fn open(&mut self, pidfd: OwnedFd, stdio: OurStdio, input: &Stdin) -> io::Result<()> {
        self.child.pidfd = Some(reap::watch(pidfd)?);
        self.stdout = Some(Receiver::from_owned_fd(stdio.stdout)?);
        self.stderr = Some(Receiver::from_owned_fd(stdio.stderr)?);
        self.stdin = stdio.stdin.map(Sender::from_owned_fd).transpose()?;
        if let Stdin::Bytes(bytes) = input {
            self.input.clone_from(bytes);
        }
        Ok(())
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Returns the write end of standard input, once, after [`Stdin::Piped`].
    pub fn take_stdin(&mut self) -> Option<Sender> {
        if self.input.is_empty() {
            self.stdin.take()
        } else {
            None
        }
    }

    /// Writes the input, passes the output to the sink, and waits for the end.
    ///
    /// The process ends with its main process. All output of the main process reaches the sink. If a background
    /// process keeps a pipe open, its output is passed on for [`Timing::pipe_grace`]. Then all remaining descendants
    /// are killed, `setsid` children included, so that nothing outlives the stage.
    ///
    /// # Cancellation
    ///
    /// Stop through `stop`. Dropping the future kills at once and collects later.
    ///
    /// # Errors
    ///
    /// Fails if the process cannot be awaited or does not die when killed. An exit code other than 0 is not an
    /// error.
    pub async fn run<S, T>(
        mut self,
        sink: &mut S,
        stop: &T,
        timing: &Timing,
    ) -> Result<Outcome, ProcessError>
    where
        S: OutputSink + ?Sized,
        T: StopSignal + ?Sized,
    {
        let input = std::mem::take(&mut self.input);
        // An unused pipe is closed, so that a reading child does not wait for ever.
        let stdin = self.stdin.take().filter(|_| !input.is_empty());
        let mut pump = Pump::new(
            stdin,
            input,
            self.stdout.take(),
            self.stderr.take(),
            sink,
            timing.idle_after,
        );
        let course = self.follow(&mut pump, stop, timing).await?;
        let elapsed = self.started.elapsed();
        self.scope.end(Some(self.child.pid)).await?;
        pump.drain();
        let bytes = pump.bytes();
        let (status, usage) = self
            .child
            .collect()
            .map_err(|source| self.wait_error(source))?;
        let oom_killed = self.scope.oom_killed();
        let ended = course.ended;
        Ok(Outcome {
            status,
            ended,
            usage,
            oom_killed,
            output_cut: course.cut,
            bytes,
            elapsed,
        })
    }

    /// Waits until the main process has ended and the pipes are closed.
    async fn follow<S, T>(
        &self,
        pump: &mut Pump<'_, S>,
        stop: &T,
        timing: &Timing,
    ) -> Result<Course, ProcessError>
    where
        S: OutputSink + ?Sized,
        T: StopSignal + ?Sized,
    {
        let mut course = Course::new();
        let mut terminate = pin!(stop.reached(StopLevel::Cancel));
        let mut kill = pin!(stop.reached(StopLevel::Abort));
        let mut deadline = pin!(sleep(Duration::MAX));
        let mut collect = pin!(sleep(COLLECT_EVERY));
        let adopts = children::adopts();
        loop {
            tokio::select! {
                // An abort must not be taken for a cancel that was requested with it.
                biased;
                () = &mut kill, if course.requested < StopLevel::Abort => {
                    course.request(StopLevel::Abort);
                    if course.phase == Phase::Ended {
                        arm(deadline.as_mut(), Duration::ZERO);
                    } else {
                        self.kill(&mut course);
                        arm(deadline.as_mut(), timing.kill_deadline);
                    }
                }
                () = &mut terminate, if course.requested < StopLevel::Cancel => {
                    course.request(StopLevel::Cancel);
                    if course.phase == Phase::Ended {
                        arm(deadline.as_mut(), Duration::ZERO);
                    } else {
                        self.terminate();
                        course.phase = Phase::Terminating;
                        arm(deadline.as_mut(), timing.terminate_grace);
                    }
                }
                ended = self.child.ended(), if course.phase != Phase::Ended => {
                    ended.map_err(|source| self.wait_error(source))?;
                    course.phase = Phase::Ended;
                    if self.scope.is_deserted() {
                        // All output of the process is in the pipes. Their end may come late: every child that is being started
                        // holds them until it is loaded.
                        return Ok(course);
                    }
                    pump.drain();
                    arm(deadline.as_mut(), timing.pipe_grace);
                }
                () = &mut deadline, if course.phase != Phase::Running => match course.phase {
                    Phase::Running => {}
                    Phase::Terminating => {
                        self.kill(&mut course);
                        arm(deadline.as_mut(), timing.kill_deadline);
                    }
                    Phase::Killing => {
                        let after = timing.kill_deadline;
                        return Err(ProcessError::Unkillable { pid: self.id(), after });
                    }
                    Phase::Ended => course.cut = true,
                },
                () = &mut collect, if adopts => {
                    children::adopted();
                    arm(collect.as_mut(), COLLECT_EVERY);
                }
                result = pump.turn(), if pump.is_open() => {
                    result.map_err(|source| self.wait_error(source))?;
                }
            }
            if course.phase == Phase::Ended && (course.cut || !pump.has_output()) {
                return Ok(course);
            }
        }
    }

    fn terminate(&self) {
        tracing::debug!(pid = self.id(), program = %self.program, "Terminating the process.");
        // It may have ended just now; the wait finds out.
        let _ = kill_process_group(self.child.pid, Signal::TERM);
        // A stopped process handles a signal only after SIGCONT.
        let _ = kill_process_group(self.child.pid, Signal::CONT);
    }

    fn kill(&self, course: &mut Course) {
        tracing::debug!(pid = self.id(), program = %self.program, "Killing the process.");
        course.phase = Phase::Killing;
        if let Ended::Stopped { killed, .. } = &mut course.ended {
            *killed = true;
        }
        self.scope.kill(Some(self.child.pid));
    }

    fn wait_error(&self, source: io::Error) -> ProcessError {
        ProcessError::Wait {
            pid: self.id(),
            source,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.child.collected {
            self.scope.kill(Some(self.child.pid));
            children::abandon(self.child.pid);
        }
    }
}

/// The progress of the wait.
#[derive(Debug)]
struct Course {
    phase: Phase,
    /// The strongest request, even if it came too late to matter.
    requested: StopLevel,
    ended: Ended,
    cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// SIGTERM was sent; the deadline kills.
    Terminating,
    /// SIGKILL was sent; the deadline fails.
    Killing,
    /// The main process is dead; the deadline closes the pipes.
    Ended,
}

impl Course {
    fn new() -> Self {
        Self {
            phase: Phase::Running,
            requested: StopLevel::None,
            ended: Ended::ByItself,
            cut: false,
        }
    }

    /// Records a request. A request after the end did not cause the end.
    fn request(&mut self, level: StopLevel) {
        self.requested = level;
        if self.phase != Phase::Ended {
            let killed = matches!(self.ended, Ended::Stopped { killed: true, .. });
            self.ended = Ended::Stopped { level, killed };
        }
    }
}

/// Sets a timer.
fn arm(timer: std::pin::Pin<&mut Sleep>, after: Duration) {
    // A deadline beyond the range of the clock means never.
    let now = tokio::time::Instant::now();
    let never = Duration::from_hours(24 * 365);
    timer.reset(now + after.min(never));
}

/// The main process.
#[derive(Debug)]
struct Child {
    pid: Pid,
    /// `None` only until it is registered.
    pidfd: Option<AsyncFd<OwnedFd>>,
    collected: bool,
}

impl Child {
    /// Waits for the end without collecting the process.
    ///
    /// It uses a pidfd instead of tokio's `Child`, which collects the process as soon as it ends: the process id,
    /// and so the group's, could then be reused before the group is killed.
    async fn ended(&self) -> io::Result<()> {
        let pidfd = self.pidfd.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        loop {
            let mut ready = pidfd.readable().await?;
            if reap::has_ended(pidfd.get_ref())? {
                return Ok(());
            }
            ready.clear_ready();
        }
    }

    fn collect(&mut self) -> io::Result<(ExitStatus, Usage)> {
        self.collected = true;
        children::collect(self.pid)
    }
}
