//! The full screen on a terminal that accepts no output for a while.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{DEADLINE, Project, wait_until_described};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{ioctl_fionread, read, write};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A log that fills any screen, so that one frame exceeds the terminal's buffer.
const PIPELINE: &str = "\
job:
  script:
    - for i in $(seq 200); do printf '%0400d\\n' $i; done
    - sleep 600
";

const HEARS_THE_MOUSE: &str = "\x1b[?1006h";
const HEARS_NO_MOUSE: &str = "\x1b[?1006l";

/// The binary, and the other end of its terminal.
struct Slow {
    run: Child,
    end: OwnedFd,
}

impl Slow {
    fn start(project: &Project) -> Self {
        let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&end).unwrap();
        unlockpt(&end).unwrap();
        let name = ptsname(&end, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = open(name.as_c_str(), flags, Mode::empty()).unwrap();
        let stdio = || Stdio::from(terminal.try_clone().unwrap());
        let run = Command::new("setsid")
            .args(["--ctty", env!("CARGO_BIN_EXE_runwright")])
            .args(["run", "--progress", "tui"])
            .current_dir(project.dir())
            .env("RUNWRIGHT_HOME", project.home())
            .env("TERM", "xterm-256color")
            .env_remove("CI")
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .spawn()
            .unwrap();
        let slow = Self { run, end };
        slow.resize(400);
        slow
    }

    fn resize(&self, columns: u16) {
        let size = Winsize {
            ws_row: 150,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&self.end, size).unwrap();
    }

    fn press(&self, key: &str) {
        write(&self.end, key.as_bytes()).unwrap();
    }

    /// Waits until a frame is longer than the terminal's buffer.
    fn wait_until_full(&self) {
        let mut held = 0;
        wait_until_described(
            || "a terminal that is full".to_owned(),
            || {
                let before = held;
                thread::sleep(Duration::from_millis(50));
                held = ioctl_fionread(&self.end).unwrap();
                held > 1000 && held == before
            },
        );
    }

    /// Reads the output that is available now or shortly.
    fn take(&self) -> Vec<u8> {
        let mut taken = Vec::new();
        let soon = Timespec {
            tv_sec: 0,
            tv_nsec: 20_000_000,
        };
        while poll(&mut [PollFd::new(&self.end, PollFlags::IN)], Some(&soon)) == Ok(1) {
            let mut buffer = [0; 8192];
            // Reading fails once the last program has closed the terminal.
            let Ok(count) = read(&self.end, &mut buffer) else {
                break;
            };
            taken.extend_from_slice(&buffer[..count]);
        }
        taken
    }

    /// Reads output until it contains this text.
    fn take_until(&self, part: &str) {
        let mut taken = Vec::new();
        wait_until_described(
            || format!("{part:?}"),
            || {
                taken.extend(self.take());
                String::from_utf8_lossy(&taken).contains(part)
            },
        );
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let group = i32::try_from(self.run.id()).ok().and_then(Pid::from_raw);
        let send = |signal| group.map(|group| kill_process_group(group, signal));
        send(Signal::INT);
        let begun = Instant::now();
        while matches!(self.run.try_wait(), Ok(None)) {
            // The remaining output must be read, or the program could not exit.
            self.take();
            if begun.elapsed() > DEADLINE {
                send(Signal::KILL);
            }
        }
    }
}

#[test]
fn key_pressed_during_a_resize_is_handled() {
    let project = Project::with_pipeline(PIPELINE);
    let terminal = Slow::start(&project);
    terminal.take_until("$ sleep 600");
    for step in 0..20 {
        // Both arrive while the program writes.
        terminal.press("z");
        terminal.wait_until_full();
        terminal.resize(399 - step);
        // The resize signal comes first.
        thread::sleep(Duration::from_millis(20));
        terminal.press("m");
        let sequence = [HEARS_THE_MOUSE, HEARS_NO_MOUSE][usize::from(step % 2)];
        terminal.take_until(sequence);
    }
}
