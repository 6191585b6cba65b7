//! A stage without the agent: a shell on the host reads it from standard input.
//!
//! The text is one compound command, so that the shell has read all of it before it starts anything. The script runs in a
//! session of its own. Beside it a watcher reads the rest of the input: a line `TERM` or `KILL` is a signal to send, and
//! the end of input is `KILL`. So a stop needs no second channel, and the end of this program ends the script. The watcher of the
//! job's directory ends what has left the session.

use crate::connection::{ChannelInput, Event, Exit};
use crate::error::SshError;
use crate::host::Host;
use crate::link::Link;
use crate::stage::Stage;
use executor_core::{
    BuildError, Cancellation, ExitCode, JobTrace, Retryability, StageResult, StageStatus,
    TraceStream,
};
use fail_point::fail_point;
use rustix::rand::{GetRandomFlags, getrandom};
use shells::{EndLine, MarkedLine, SIGNAL_TREE, feed, quote_sh, write_files};
use tokio::time::{Instant, sleep_until};

/// Runs a stage to its end.
pub(crate) async fn run(
    link: &Link,
    host: &Host,
    stage: Stage<'_>,
    cancellation: &Cancellation,
) -> Result<StageResult, BuildError> {
    let mark = new_id();
    let text = text(host, &stage, &mark)?;
    let mut channel = fail_point!(
        "executor_ssh::shell_stage::start",
        link.exec("exec sh", cancellation).await
    )?;
    let begun = Instant::now();
    let mut following = Following {
        stage: &stage,
        start: MarkedLine::new(mark.clone()),
        end: EndLine::new(format!("{mark}-end ")),
        bytes: [0, 0],
        stopping: Stopping::default(),
    };
    let input = &mut channel.input;
    let feeding = async {
        for piece in text.chunks(16 * 1024) {
            if input.write(piece.to_vec()).await.is_err() {
                break;
            }
        }
        input
    };
    let ended = following
        .follow(feeding, &mut channel.output, cancellation)
        .await;
    let lost = || SshError::Broken {
        host: link.target.address(),
        source: Some("a script without the agent cannot be followed after that".into()),
    };
    match ended {
        Ended::Code(_) | Ended::Early(_) | Ended::Lost if following.stopping.asked => {
            Err(BuildError::stopped("ssh", cancellation))
        }
        Ended::Code(code) => Ok(StageResult {
            duration: begun.elapsed(),
            stdout_bytes: following.bytes[0],
            stderr_bytes: following.bytes[1],
            ..StageResult::new(StageStatus::Exited(ExitCode(code)))
        }),
        Ended::Early(exit) => {
            let why = exit.signal.map_or_else(
                || format!("with exit code {}", exit.code),
                |signal| format!("by signal {signal}"),
            );
            Err(SshError::Host {
                host: link.target.address(),
                message: format!(
                    "the shell that runs the script ended {why}; the log has its messages"
                ),
                retry: Retryability::Permanent,
            }
            .into())
        }
        Ended::Lost => Err(lost().into()),
        Ended::NotKilled => Err(SshError::Silent {
            host: link.target.address(),
            doing: "ending the script",
            within: stage.timing.kill_deadline,
        }
        .into()),
    }
}

/// Returns 16 random hexadecimal digits.
pub(crate) fn new_id() -> String {
    let mut bytes = [0; 8];
    // The kernel's generator does not fail once it has started; the id of a process is then as good.
    if getrandom(&mut bytes, GetRandomFlags::empty()).is_err() {
        bytes = u64::from(std::process::id()).to_ne_bytes();
    }
    format!("{:016x}", u64::from_ne_bytes(bytes))
}

/// Returns what the shell reads.
fn text(host: &Host, stage: &Stage<'_>, mark: &str) -> Result<Vec<u8>, BuildError> {
    let invalid = |error: shells::ScriptError| BuildError::config(error.to_string());
    let script = feed(stage.command, stage.temp_dir, mark)?;
    let script = String::from_utf8_lossy(&script);
    let shell = quote_sh(stage.shell).map_err(invalid)?;
    let files = write_files(&stage.command.variables.files, stage.temp_dir)?;
    let id = host.id();
    let register = host.register()?;
    let text = format!(
        "{{\n{register}\n\
         RUNWRIGHT_PROCESS_MARKER={id}\nexport RUNWRIGHT_PROCESS_MARKER\n\
         {files}\
         exec 3<&0\n\
         session=$(command -v setsid)\n\
         $session {shell} 3<&- <<'{mark}-script' &\n{script}{mark}-script\n\
         first=$!\n\
         send() {{\nset -- \"$1\" \"$first\"\n(\n{SIGNAL_TREE}\n)\n}}\n\
         (while read -r line <&3; do send \"$line\"; done; send KILL; [ -d {job}/connections ] || rm -rf {job}) >/dev/null 2>&1 &\n\
         watcher=$!\n\
         exec 3<&-\n\
         wait \"$first\"\n\
         code=$?\n\
         kill -KILL \"$watcher\" 2>/dev/null\n\
         echo \"{mark}-end $code\"\n\
         exit\n\
         }}\n",
        job = quote_sh(&host.job_dir).map_err(invalid)?,
    );
    Ok(text.into_bytes())
}

/// How the following of a script ended.
enum Ended {
    Code(i32),
    /// The shell around the script ended without its exit code.
    Early(Exit),
    /// The connection broke.
    Lost,
    /// The script was killed, and its end was not seen.
    NotKilled,
}

/// The progress of a stop.
#[derive(Debug, Default)]
struct Stopping {
    asked: bool,
    killed: bool,
    kill_at: Option<Instant>,
    give_up_at: Option<Instant>,
    /// The signal to send once the script has started.
    pending: Option<&'static str>,
}

struct Following<'s> {
    stage: &'s Stage<'s>,
    start: MarkedLine,
    end: EndLine,
    bytes: [u64; 2],
    stopping: Stopping,
}

impl Following<'_> {
    async fn follow<'i>(
        &mut self,
        feeding: impl Future<Output = &'i mut ChannelInput>,
        output: &mut crate::connection::ChannelOutput,
        cancellation: &Cancellation,
    ) -> Ended {
        let timing = self.stage.timing;
        tokio::pin!(feeding);
        let mut input: Option<&mut ChannelInput> = None;
        let mut idle_at: Option<Instant> = None;
        let mut done_at: Option<Instant> = None;
        loop {
            let Stopping {
                kill_at,
                give_up_at,
                ..
            } = self.stopping;
            let next = [kill_at, give_up_at, idle_at, done_at]
                .into_iter()
                .flatten()
                .min();
            tokio::select! {
                // Output that has arrived goes before a deadline that passed meanwhile.
                biased;
                _ = cancellation.canceled(), if !self.stopping.asked => {
                    self.stopping.asked = true;
                    self.stopping.pending = Some("TERM\n");
                    self.stopping.kill_at = Some(Instant::now() + timing.terminate_grace);
                }
                _ = cancellation.aborted(), if !self.stopping.killed => {
                    self.stopping.asked = true;
                    self.stopping.kill_at = Some(Instant::now());
                }
                fed = &mut feeding, if input.is_none() => input = Some(fed),
                event = output.next() => match event {
                    Some(Event::Stdout(bytes)) => {
                        self.stdout(&bytes);
                        idle_at = Some(Instant::now() + timing.idle_after);
                    }
                    Some(Event::Stderr(bytes)) => {
                        self.write(1, &bytes);
                        idle_at = Some(Instant::now() + timing.idle_after);
                    }
                    Some(Event::Ended(exit)) => {
                        self.finish();
                        return self.end.code().map_or(Ended::Early(exit), Ended::Code);
                    }
                    None => {
                        self.finish();
                        return self.end.code().map_or(Ended::Lost, Ended::Code);
                    }
                },
                () = until(next) => {}
            }
            let now = Instant::now();
            let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            if due(idle_at) {
                idle_at = None;
                self.stage.trace.idle(TraceStream::STDOUT);
                self.stage.trace.idle(TraceStream::STDERR);
            }
            if due(kill_at.or(self.stopping.kill_at)) && !self.stopping.killed {
                self.stopping.killed = true;
                self.stopping.kill_at = None;
                self.stopping.pending = Some("KILL\n");
                self.stopping.give_up_at = Some(now + timing.kill_deadline);
            }
            if let (Some(signal), Some(_), Some(input)) =
                (self.stopping.pending, self.start.found(), &mut input)
            {
                self.stopping.pending = None;
                // A broken connection shows in the output.
                let _ = input.write(signal.as_bytes().to_vec()).await;
            }
            // Another process may hold the output of the script.
            if let (Some(_), None) = (self.end.code(), done_at) {
                done_at = Some(now + timing.pipe_grace);
            }
            if let (true, Some(code)) = (due(done_at), self.end.code()) {
                self.finish();
                return Ended::Code(code);
            }
            if due(self.stopping.give_up_at) {
                self.finish();
                return Ended::NotKilled;
            }
        }
    }

    fn stdout(&mut self, bytes: &[u8]) {
        let Self {
            stage,
            start,
            end,
            bytes: counts,
            ..
        } = self;
        start.pass(bytes, |bytes| {
            end.pass(bytes, |bytes| write(stage.trace, counts, 0, bytes));
        });
    }

    fn write(&mut self, stream: usize, bytes: &[u8]) {
        write(self.stage.trace, &mut self.bytes, stream, bytes);
    }

    fn finish(&mut self) {
        let Self {
            stage,
            start,
            end,
            bytes,
            ..
        } = self;
        start.finish(|rest| end.pass(rest, |rest| write(stage.trace, bytes, 0, rest)));
        end.finish(|rest| write(stage.trace, bytes, 0, rest));
    }
}

fn write(trace: &dyn JobTrace, counts: &mut [u64; 2], stream: usize, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    counts[stream] += bytes.len() as u64;
    trace.write([TraceStream::STDOUT, TraceStream::STDERR][stream], bytes);
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
