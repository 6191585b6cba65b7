use super::fault::Fault;
use executor_core::prelude::*;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// A running script.
pub(crate) struct Running {
    pub(crate) fault: Option<Fault>,
    pub(crate) trace: Arc<dyn JobTrace>,
    pub(crate) grace: Duration,
    pub(crate) mark: String,
}

/// How the process ended.
enum End {
    Itself(ExitStatus),
    Stopped,
}

impl Running {
    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    pub(crate) async fn run(
        self,
        mut shell: Command,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        let system = |error| BuildError::system("reference", "run the script", error);
        shell
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = shell.spawn().map_err(system)?;
        let mut readers = JoinSet::new();
        let (mut out, mut err) = (TraceStream::STDOUT, TraceStream::STDERR);
        if self.has(Fault::SwapsStreams) {
            std::mem::swap(&mut out, &mut err);
        }
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        readers.spawn(pump(stdout, out, Arc::clone(&self.trace), self.fault));
        readers.spawn(pump(stderr, err, Arc::clone(&self.trace), self.fault));

        let group = Pid::from_raw(child.id().expect("it was not awaited yet").cast_signed());
        let group = group.expect("a process has a number");
        let end = self
            .wait(&mut child, group, cancellation)
            .await
            .map_err(system)?;
        self.drain(readers, group).await;
        match end {
            End::Itself(status) => Ok(self.result(status)),
            End::Stopped if self.has(Fault::CancelIsSuccess) => Ok(StageResult::exited(0)),
            End::Stopped if self.has(Fault::ForgetsCause) => {
                Err(BuildError::Canceled(CancelCause::User))
            }
            End::Stopped => Err(BuildError::stopped("reference", cancellation)),
        }
    }

    async fn wait(
        &self,
        child: &mut Child,
        group: Pid,
        cancellation: &Cancellation,
    ) -> std::io::Result<End> {
        if self.has(Fault::IgnoresCancel) {
            return child.wait().await.map(End::Itself);
        }
        tokio::select! {
            status = child.wait() => return status.map(End::Itself),
            _ = cancellation.canceled() => {}
        }
        let aborted = async {
            if self.has(Fault::IgnoresAbort) {
                std::future::pending::<()>().await;
            }
            cancellation.aborted().await;
        };
        let grace = async {
            match self.fault {
                Some(Fault::NeverKills) => std::future::pending().await,
                Some(Fault::KillsAtOnce) => {}
                _ => {
                    let _ = kill_process_group(group, Signal::TERM);
                    tokio::time::sleep(self.grace).await;
                }
            }
        };
        if self.has(Fault::NeverKills) {
            let _ = kill_process_group(group, Signal::TERM);
        }
        tokio::select! {
            biased;
            () = aborted => {}
            status = child.wait() => return status.map(|_| End::Stopped),
            () = grace => {}
        }
        let _ = kill_process_group(group, Signal::KILL);
        child.wait().await.map(|_| End::Stopped)
    }

    /// Waits until the readers finish, which a background process must not delay.
    async fn drain(&self, mut readers: JoinSet<()>, group: Pid) {
        match self.fault {
            Some(Fault::WaitsForPipes) => while readers.join_next().await.is_some() {},
            Some(Fault::LeaksChildren) => {}
            Some(Fault::LeaksDetachedChildren) => {
                let _ = kill_process_group(group, Signal::KILL);
            }
            _ => {
                let _ = kill_process_group(group, Signal::KILL);
                kill_marked(&self.mark);
            }
        }
        // Almost no process can still hold the pipes, but a busy machine may be slow.
        let limit = tokio::time::sleep(Duration::from_secs(20));
        tokio::pin!(limit);
        loop {
            tokio::select! {
                reader = readers.join_next() => if reader.is_none() { return },
                () = &mut limit => return,
            }
        }
    }

    fn result(&self, status: ExitStatus) -> StageResult {
        if let Some(signal) = status.signal() {
            return match self.fault {
                Some(Fault::HidesSignals) => StageResult::exited(0),
                Some(Fault::CutsExitCodes) => StageResult::exited(1),
                _ => StageResult::new(StageStatus::Signaled { signal }),
            };
        }
        let code = status.code().expect("no signal ended it");
        if self.has(Fault::CutsExitCodes) && code > 127 {
            return StageResult::exited(1);
        }
        StageResult::exited(code)
    }
}

async fn pump(
    mut pipe: impl AsyncRead + Unpin,
    stream: TraceStream,
    trace: Arc<dyn JobTrace>,
    fault: Option<Fault>,
) {
    let size = match fault {
        // Small enough that there are always several pieces.
        Some(Fault::ReordersOutput | Fault::DecoratesPieces) => 64,
        _ => 64 * 1024,
    };
    let mut buffer = vec![0; size];
    let mut in_line = 0;
    let mut held = Vec::new();
    loop {
        let read = match pipe.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => &buffer[..read],
        };
        match fault {
            Some(Fault::BuffersOutput) => held.extend_from_slice(read),
            Some(Fault::HoldsLines) => {
                held.extend_from_slice(read);
                let end = held.iter().rposition(|byte| *byte == b'\n');
                let rest = held.split_off(end.map_or(0, |at| at + 1));
                trace.write(stream, &held);
                held = rest;
            }
            Some(Fault::LosesLastBytes) => {
                // A piece is written once the next one arrives.
                trace.write(stream, &held);
                held = read.to_vec();
            }
            Some(Fault::ReordersOutput) if held.is_empty() => held = read.to_vec(),
            Some(Fault::ReordersOutput) => {
                trace.write(stream, read);
                trace.write(stream, &std::mem::take(&mut held));
            }
            Some(Fault::CutsLines) => {
                let most = LONGEST_LINE.saturating_sub(in_line);
                let line_end = read.iter().position(|byte| *byte == b'\n');
                let (line, rest) = read.split_at(line_end.unwrap_or(read.len()));
                trace.write(stream, &line[..line.len().min(most)]);
                trace.write(stream, rest);
            }
            Some(Fault::DecoratesPieces) if in_line > 0 => {
                trace.write(stream, &[b"| ", read].concat());
            }
            Some(Fault::CorrectsText) => {
                trace.write(stream, String::from_utf8_lossy(read).as_bytes());
            }
            _ => trace.write(stream, read),
        }
        in_line = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => read.len() - end - 1,
            None => in_line + read.len(),
        };
    }
    if fault != Some(Fault::LosesLastBytes) && !held.is_empty() {
        trace.write(stream, &held);
    }
}

/// The position at which `CutsLines` cuts.
const LONGEST_LINE: usize = 64 * 1024;

/// Kills all processes of this host with this mark, in any process group.
pub(crate) fn kill_marked(mark: &str) {
    for pid in marked(mark) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Returns the processes of this host whose mark starts with this one.
pub(crate) fn marked(mark: &str) -> Vec<Pid> {
    let entry = format!("REFERENCE_MARK={mark}");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|process| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let environment = std::fs::read(process.path().join("environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        variables
            .any(|variable| variable.starts_with(entry.as_bytes()))
            .then(|| Pid::from_raw(number))?
    });
    processes.collect()
}
