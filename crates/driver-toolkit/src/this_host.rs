//! Scripts as processes of this host.

use crate::failure::Failure;
use crate::remote::{Ended, Output, Stream, Target, program};
use crate::stop::{Stage, StopLevel};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The pause between two looks at the process and at the request to stop.
const POLL: Duration = Duration::from_millis(20);

/// How long output may follow the end of a command, from processes that it has left.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// This host, for stages that need no environment: those that fetch sources into a directory that it shares with the
/// environment, for instance. What a command leaves running is killed at its end.
#[derive(Debug, Clone, Copy)]
pub struct ThisHost;

impl Target for ThisHost {
    fn exec(
        &self,
        command: &str,
        input: &mut (dyn Read + Send),
        output: &dyn Output,
        stage: &Stage<'_>,
    ) -> Result<Ended, Failure> {
        let mut program = program("sh");
        program.args(["-c", command]);
        program
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let failed = |error: io::Error| Failure::system(format!("start sh: {error}"));
        let mut child = program.spawn().map_err(failed)?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let signal = |signal| {
            // It has ended already.
            let _ = group.map(|group| kill_process_group(group, signal));
        };
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (done, closed) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                // The command may end before it has read everything.
                let _ = stdin.map(|mut stdin| io::copy(input, &mut stdin));
            });
            let of_stderr = done.clone();
            scope.spawn(move || pass(stdout, Stream::Stdout, output, done));
            scope.spawn(move || pass(stderr, Stream::Stderr, output, of_stderr));
            let mut seen = None;
            let status = loop {
                match child.try_wait() {
                    Ok(Some(status)) => break Ok(status),
                    Ok(None) => {}
                    Err(error) => break Err(failed(error)),
                }
                let late = Instant::now() >= stage.deadline;
                let level = if late {
                    Some(StopLevel::Kill)
                } else {
                    stage.stop.wait(seen, POLL)
                };
                if level > seen {
                    seen = level;
                    signal(if level == Some(StopLevel::Kill) {
                        Signal::KILL
                    } else {
                        Signal::TERM
                    });
                }
            };
            if closed.recv_timeout(OUTPUT_GRACE) == Err(RecvTimeoutError::Timeout)
                || status.is_err()
            {
                signal(Signal::KILL);
            }
            status.map(ended)
        })
    }
}

fn pass<D>(stream: Option<impl Read>, kind: Stream, output: &dyn Output, done: D) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 64 << 10];
    let mut has_reader = true;
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        has_reader = has_reader && output.write(kind, &buffer[..count]).is_ok();
    }
    drop(done);
}

fn ended(status: ExitStatus) -> Ended {
    status.code().map_or_else(
        || Ended::Signaled(status.signal().unwrap_or_default()),
        Ended::Exited,
    )
}
