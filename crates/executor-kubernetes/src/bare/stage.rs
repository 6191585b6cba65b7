//! A stage without the agent: a command that reads the script from standard input, and prints its exit code.
//!
//! The script runs in a session of its own. Beside it a watcher reads the rest of the input. The end of input is the end of the
//! connection, at which the watcher ends the container.

use super::alive_file;
use crate::config::NAME;
use crate::error::KubernetesError;
use crate::exec::{Exec, PodExec, Streams};
use crate::pod::AGENT;
use executor_core::{
    BuildError, BuildStage, Cancellation, ExitCode, JobTrace, Retryability, RunnerConfig,
    StageCommand, StageResult, StageStatus,
};
use process::{OutputSink, Stream, TraceOutput};
use shells::{EndLine, MarkedLine, SIGNAL_TREE, feed, write_files};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_tungstenite::tungstenite::Bytes;

/// How long another process may hold the output of a script that has ended.
const PIPE_GRACE: Duration = Duration::from_secs(1);

/// The silence after which a partial line is shown.
const IDLE_AFTER: Duration = Duration::from_millis(100);

/// How long a connection may be silent: proxies on the way to the API server close silent ones.
const SILENCE: Duration = Duration::from_secs(50);

/// How long a signal may take.
const SIGNAL_WITHIN: Duration = Duration::from_secs(30);

/// How long after a broken connection the reason may become visible.
const SOON: Duration = Duration::from_secs(2);

/// A stage and its pod.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BareStage<'s> {
    pub(crate) exec: &'s PodExec,
    pub(crate) command: &'s StageCommand,
    pub(crate) shell: &'s str,
    pub(crate) temp_dir: &'s str,
    pub(crate) trace: &'s dyn JobTrace,
    pub(crate) config: &'s RunnerConfig,
}

/// Returns the script of the command. Its arguments are the path of a file for the stage's script, the size of that, the shell, and the mark.
///
/// The script's shell stays in the foreground: one in the background would ignore SIGINT. Standard error stays open in descriptor 4, as
/// containerd ends the input of a command that closes it.
fn runner_script() -> String {
    format!(
        r#"(umask 077; head -c "$1" >"$0") && [ "$(wc -c <"$0")" -eq "$1" ] || exit 1
exec 3<&0 4>&2 2>/dev/null
(
  while read -r line; do :; done
  rm -f {alive}
) <&3 >/dev/null 4>&- &
watcher=$!
$(command -v setsid) sh -c 'exec <"$0" && rm -f "$0" && exec "$1"' "$0" "$2" 3<&- 2>&4 4>&-
code=$?
kill -KILL "$watcher"
rm -f "$0"
echo "$3-end $code"
exit "$code""#,
        alive = alive_file()
    )
}

/// The output of a stage on its way to the log.
struct Output<'t> {
    trace: TraceOutput<'t>,
    start: MarkedLine,
    end: EndLine,
    bytes: [u64; 2],
}

impl Output<'_> {
    fn take(&mut self, stream: Stream, piece: &[u8]) {
        let Self {
            trace,
            start,
            end,
            bytes,
        } = self;
        match stream {
            Stream::Stderr => write(trace, bytes, stream, piece),
            Stream::Stdout => start.pass(piece, |piece| {
                end.pass(piece, |piece| write(trace, bytes, stream, piece));
            }),
        }
    }

    fn finish(&mut self) {
        let Self {
            trace,
            start,
            end,
            bytes,
        } = self;
        let mut out = |rest: &[u8]| write(trace, bytes, Stream::Stdout, rest);
        start.finish(|rest| end.pass(rest, &mut out));
        end.finish(out);
    }

    /// Returns the process of the script's shell, once that has the whole script.
    fn process(&self) -> Option<u32> {
        self.start.found()?.parse().ok()
    }
}

fn write(trace: &mut TraceOutput<'_>, counts: &mut [u64; 2], stream: Stream, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    counts[usize::from(stream == Stream::Stderr)] += bytes.len() as u64;
    trace.write(stream, bytes);
}

/// The progress of a stop.
#[derive(Debug, Default)]
struct Stopping {
    asked: bool,
    killed: bool,
    /// The signal to send once the script has started.
    pending: Option<&'static str>,
    kill_at: Option<Instant>,
    give_up_at: Option<Instant>,
}

impl BareStage<'_> {
    /// Runs the stage to its end.
    pub(crate) async fn run(&self, cancellation: &Cancellation) -> Result<StageResult, BuildError> {
        if self.command.stage == BuildStage::StepRun {
            return Err(BuildError::config(
                "`run` needs the agent, which does not run in this pod",
            ));
        }
        let mark = format!("runwright-{:032x}", fastrand::u128(..));
        let mut text = write_files(&self.command.variables.files, self.temp_dir)?.into_bytes();
        text.extend(feed(self.command, self.temp_dir, &mark)?);
        let (script, file) = (runner_script(), format!("{AGENT}/{mark}"));
        let count = text.len().to_string();
        let words = ["sh", "-c", &script, &file, &count, self.shell, &mark];
        let begun = Instant::now();
        let mut process = tokio::select! {
            started = self.exec.start(&words, Streams::Pipes) => started?,
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        let mut output = Output {
            trace: TraceOutput(self.trace),
            end: EndLine::new(format!("{mark}-end ")),
            start: MarkedLine::new(mark),
            bytes: [0, 0],
        };
        let followed = self.follow(&mut process, text.into(), &mut output, cancellation);
        let stopped = followed.await?;
        output.finish();
        if stopped {
            if let Some(process) = output.process() {
                // Descendants may be left. A pod that cannot be reached ends by itself.
                let _ = self.signal("KILL", process).await;
            }
            return Err(BuildError::stopped(NAME, cancellation));
        }
        let early = |code: i32| KubernetesError::Pod {
            name: self.exec.pod.clone(),
            reason: format!(
                "the shell that runs the script ended with exit code {code}; the log has its messages"
            ),
            retry: Retryability::Permanent,
        };
        match (output.end.code(), process.exit()) {
            (Some(code), _) if output.process().is_some() => Ok(StageResult {
                duration: begun.elapsed(),
                stdout_bytes: output.bytes[0],
                stderr_bytes: output.bytes[1],
                ..StageResult::new(StageStatus::Exited(ExitCode(code)))
            }),
            (Some(code), _) => Err(early(code).into()),
            (None, Some(status)) => Err(early(status.exit_code().0).into()),
            (None, None) => {
                // The end of the pod is the better reason.
                sleep(SOON).await;
                let reason = "the connection to a script broke, which ends a job without the agent";
                Err(self.exec.broken(reason).into())
            }
        }
    }

    /// Passes the output on until its end; returns whether a stop was requested.
    async fn follow(
        &self,
        process: &mut Exec,
        mut input: Bytes,
        output: &mut Output<'_>,
        cancellation: &Cancellation,
    ) -> Result<bool, KubernetesError> {
        let mut stopping = Stopping::default();
        let (mut idle_at, mut done_at) = (None, None);
        let mut silent_at = Instant::now() + SILENCE;
        loop {
            let Stopping {
                kill_at,
                give_up_at,
                ..
            } = stopping;
            let deadlines = [kill_at, give_up_at, idle_at, done_at];
            let next = deadlines.into_iter().flatten().min();
            let next = next.map_or(silent_at, |next| next.min(silent_at));
            tokio::select! {
                // Output that has arrived goes before a deadline that passed meanwhile.
                biased;
                _ = cancellation.canceled(), if !stopping.asked => {
                    stopping.asked = true;
                    stopping.pending = Some("TERM");
                    stopping.kill_at = Some(Instant::now() + self.config.graceful_kill_timeout);
                }
                _ = cancellation.aborted(), if !stopping.killed => {
                    stopping.asked = true;
                    stopping.kill_at = Some(Instant::now());
                }
                piece = process.next(&mut input) => match piece {
                    Ok(Some((stream, piece))) => {
                        output.take(stream, &piece);
                        idle_at = Some(Instant::now() + IDLE_AFTER);
                    }
                    // A connection that broke has no exit code.
                    Ok(None) | Err(_) => return Ok(stopping.asked),
                },
                () = sleep_until(next) => {}
            }
            let now = Instant::now();
            let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            if due(idle_at) {
                idle_at = None;
                output.trace.idle();
            }
            if due(Some(silent_at)) {
                silent_at = now + SILENCE;
                if input.is_empty() {
                    input = Bytes::from_static(b"\n");
                }
            }
            if due(stopping.kill_at) && !stopping.killed {
                stopping.killed = true;
                stopping.kill_at = None;
                stopping.pending = Some("KILL");
                stopping.give_up_at = Some(now + self.config.force_kill_timeout);
            }
            if let (Some(signal), Some(process)) = (stopping.pending, output.process()) {
                stopping.pending = None;
                self.signal(signal, process).await?;
            }
            // Another process may hold the output of the script.
            if output.end.code().is_some() && done_at.is_none() {
                done_at = Some(now + PIPE_GRACE);
            }
            if due(done_at) {
                return Ok(stopping.asked);
            }
            if due(stopping.give_up_at) {
                return Err(self.exec.broken("the script does not end after SIGKILL"));
            }
        }
    }

    /// Signals a process, its session and their descendants.
    async fn signal(&self, signal: &str, process: u32) -> Result<(), KubernetesError> {
        let script = format!("set -- {signal} {process}\n{SIGNAL_TREE}");
        let sent = self.exec.run(&script, &[], SIGNAL_WITHIN).await;
        sent.map(drop)
    }
}
