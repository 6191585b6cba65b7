//! Scripts as processes of this host.

use crate::failure::Failure;
use crate::remote::{Ended, Output, Stream, Target, program};
use crate::stop::{Stage, StopLevel};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// The pause between two looks at the process and at the request to stop.
const POLL: Duration = Duration::from_millis(20);

/// How long output may follow the end of a command, from processes that it has left.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// This host, for stages that need no environment: those that fetch sources into a directory that it shares with the
/// environment, for instance. What a command leaves running is killed at its end; a process in a session of its own is neither
/// killed nor awaited.
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
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(move || {
                // The command may end before it has read everything.
                let _ = stdin.map(|mut stdin| io::copy(input, &mut stdin));
            });
            let of_stderr = done.clone();
            scope.spawn(|| pass(stdout, Stream::Stdout, output, &is_over, done));
            scope.spawn(|| pass(stderr, Stream::Stderr, output, &is_over, of_stderr));
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
            // It ends when both streams have ended.
            let _ = closed.recv_timeout(OUTPUT_GRACE);
            signal(Signal::KILL);
            // A process in a session of its own may hold them.
            is_over.store(true, Ordering::Relaxed);
            status.map(ended)
        })
    }
}

/// Passes on a stream until its end, or until it is silent after the end of the command.
fn pass<D>(
    stream: Option<impl Read + AsFd>,
    kind: Stream,
    output: &dyn Output,
    is_over: &AtomicBool,
    done: D,
) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 64 << 10];
    let mut has_reader = true;
    let pause = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    // How often it is read after the end of the command.
    let mut left = 64;
    while left > 0 {
        if is_over.load(Ordering::Relaxed) {
            left -= 1;
        }
        let mut readable = [PollFd::new(&stream, PollFlags::IN)];
        match poll(&mut readable, Some(&pause)) {
            Ok(0) if is_over.load(Ordering::Relaxed) => break,
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => break,
        }
        let Ok(count @ 1..) = stream.read(&mut buffer) else {
            break;
        };
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
