//! Where the scripts of a job run, and where their output goes.

use crate::failure::Failure;
use crate::stop::Stage;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// How a script ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With an exit code.
    Exited(i32),
    /// By a signal.
    Signaled(i32),
}

/// An output stream of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Receives the output of a script while it runs.
pub trait Output: Sync {
    /// Takes the next bytes of a stream.
    ///
    /// # Errors
    ///
    /// When there is no reader any more.
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()>;
}

/// The output of a command of the driver's own, for the log of the job.
///
/// It is logged in whole lines, so that a secret in it is masked; the last one when this is dropped.
#[derive(Debug)]
pub struct StageLines<'s> {
    stage: &'s Stage<'s>,
    /// The beginnings of the next lines.
    begun: Mutex<[Vec<u8>; 2]>,
}

impl<'s> StageLines<'s> {
    /// The longest line; a longer one is logged in parts.
    const LONGEST: usize = 64 << 10;

    /// Returns an output that logs to this stage.
    pub fn new(stage: &'s Stage<'s>) -> Self {
        Self {
            stage,
            begun: Mutex::default(),
        }
    }
}

impl Output for StageLines<'_> {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let line = &mut begun[usize::from(stream == Stream::Stderr)];
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if part.ends_with(b"\n") || line.len() >= Self::LONGEST {
                self.stage.log(String::from_utf8_lossy(line).trim_end());
                line.clear();
            }
        }
        Ok(())
    }
}

impl Drop for StageLines<'_> {
    fn drop(&mut self) {
        let begun = self.begun.get_mut().unwrap_or_else(PoisonError::into_inner);
        for line in begun.iter().filter(|line| !line.is_empty()) {
            self.stage.log(String::from_utf8_lossy(line));
        }
    }
}

/// The output streams of this process.
#[derive(Debug, Clone, Copy)]
pub struct OwnStreams;

impl Output for OwnStreams {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match stream {
            Stream::Stdout => write_all(io::stdout().lock(), bytes),
            Stream::Stderr => write_all(io::stderr().lock(), bytes),
        }
    }
}

fn write_all(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

/// A place that runs scripts: a machine over SSH, a batch system.
pub trait Target {
    /// Runs a command line of a POSIX shell with `input` on its standard input, once, to its end.
    ///
    /// A request to stop with [`StopLevel::Term`](crate::StopLevel::Term) sends `SIGTERM` to the command and its children.
    ///
    /// # Errors
    ///
    /// When the command could not be started or its end is not known. An exit code other than 0 is not an error.
    fn exec(
        &self,
        command: &str,
        input: &mut (dyn Read + Send),
        output: &dyn Output,
        stage: &Stage<'_>,
    ) -> Result<Ended, Failure>;
}

/// Returns a command in a process group of its own, without standard input.
///
/// A runner sends signals to the process group of the driver. They are for the driver alone, which may need this program to stop
/// something.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = program_of_group(name);
    command.process_group(0).stdin(Stdio::null());
    command
}

/// Returns a command in the process group of this process, with its standard input.
#[expect(
    clippy::disallowed_methods,
    reason = "a driver ends its programs itself, without the runner's supervisor"
)]
pub(crate) fn program_of_group(name: impl AsRef<OsStr>) -> Command {
    Command::new(name)
}

/// Quotes a text as one word of a POSIX shell.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Stop;
    use std::time::Duration;

    #[test]
    fn lines_are_logged_whole() {
        let logged = Mutex::new(Vec::new());
        let log = |line: &str| logged.lock().unwrap().push(line.to_owned());
        let stop = Stop::new();
        let stage = Stage::new(&stop, Duration::from_mins(1), &log);
        let lines = StageLines::new(&stage);
        for (stream, bytes) in [
            (Stream::Stdout, "one\nsec"),
            (Stream::Stderr, "warn"),
            (Stream::Stdout, "ret\n"),
            (Stream::Stderr, "ing"),
        ] {
            lines.write(stream, bytes.as_bytes()).unwrap();
        }
        drop(lines);
        assert_eq!(*logged.lock().unwrap(), ["one", "secret", "warning"]);
    }
}
