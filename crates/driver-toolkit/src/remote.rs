//! Where the scripts of a job run, and where their output goes.

use crate::failure::Failure;
use crate::stop::Stage;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

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

/// Output of a command of the driver's own: lines of the job's log.
impl Output for Stage<'_> {
    fn write(&self, _stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(bytes);
        text.lines().for_each(|line| self.log(line));
        Ok(())
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
