//! Starts the program, and ends it after the test.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Long enough for a busy machine; anything longer is a hang.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// Returns the program with arguments, without input and with captured output.
pub(crate) fn agent<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "the tests start the program from outside"
    )]
    let mut command = Command::new(env!("CARGO_BIN_EXE_runwright-agent"));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the program to its end.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Output {
    agent(arguments).output().unwrap()
}

/// Returns the standard error of a program.
pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A serving agent; killed when it is dropped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) socket: PathBuf,
    stderr: BufReader<ChildStderr>,
}

impl Serving {
    /// Starts an agent with arguments after `serve`, and waits until it is ready.
    pub(crate) fn start<S: AsRef<OsStr>>(arguments: &[S]) -> Self {
        let words = [OsStr::new("serve")].into_iter();
        let words: Vec<_> = words.chain(arguments.iter().map(AsRef::as_ref)).collect();
        Self::from(&mut agent(&words))
    }

    pub(crate) fn from(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let path = line.strip_prefix(steps::agent::READY);
        let path = path.unwrap_or_else(|| panic!("unexpected line: {line}"));
        let socket = path.trim_end().into();
        Self {
            child,
            socket,
            stderr,
        }
    }

    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self::start(&[OsStr::new("--directory"), directory.as_os_str()])
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for the end; returns the exit status and the standard error since readiness.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let mut status = None;
        eventually("the agent ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (status.unwrap(), said)
    }

    /// Returns the children of the program, with the letter of their state.
    pub(crate) fn children(&self) -> Vec<(Pid, char)> {
        let parent = self.pid().as_raw_nonzero().get().to_string();
        let all = fs::read_dir("/proc").unwrap().flatten();
        let stats = all.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
        let fields = stats.filter_map(|stat| {
            let (pid, rest) = (stat.split(' ').next()?, stat.rsplit(") ").next()?);
            let mut rest = rest.split(' ');
            let (letter, its_parent) = (rest.next()?.chars().next()?, rest.next()?);
            (its_parent == parent).then_some((Pid::from_raw(pid.parse().ok()?)?, letter))
        });
        fields.collect()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Both fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !so() {
        assert!(begin.elapsed() < DEADLINE, "never came: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
