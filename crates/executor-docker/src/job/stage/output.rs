//! The output of a stage, on its way to the job's log.

use crate::error::DockerError;
use bollard::container::LogOutput;
use executor_core::{JobTrace, TraceStream};
use shells::MarkedLine;

/// Counts the bytes of a stage and writes them to the log.
#[derive(Debug)]
pub(crate) struct StageOutput<'t> {
    trace: &'t dyn JobTrace,
    line: MarkedLine,
    bytes: [u64; 2],
    /// The streams that wrote since the last silence.
    wrote: [bool; 2],
}

impl<'t> StageOutput<'t> {
    /// Returns an output that writes everything but the marked line to `trace`.
    pub(crate) fn new(trace: &'t dyn JobTrace, mark: String) -> Self {
        Self {
            trace,
            line: MarkedLine::new(mark),
            bytes: [0, 0],
            wrote: [false, false],
        }
    }

    /// Writes a piece.
    pub(crate) fn take(&mut self, piece: &LogOutput) {
        let Self {
            trace,
            line,
            bytes,
            wrote,
        } = self;
        let mut write = |stream: usize, data: &[u8]| {
            bytes[stream] += data.len() as u64;
            wrote[stream] = true;
            let streams = [TraceStream::STDOUT, TraceStream::STDERR];
            trace.write(streams[stream], data);
        };
        match piece {
            LogOutput::StdErr { message } => write(1, message),
            other => line.pass(other.as_ref(), |data| write(0, data)),
        }
    }

    /// Reports a pause in the output.
    pub(crate) fn idle(&mut self) {
        for (stream, wrote) in [TraceStream::STDOUT, TraceStream::STDERR]
            .into_iter()
            .zip(&mut self.wrote)
        {
            if std::mem::take(wrote) {
                self.trace.idle(stream);
            }
        }
    }

    /// Writes the held bytes at the end of the output.
    pub(crate) fn finish(&mut self) {
        let Self {
            trace, line, bytes, ..
        } = self;
        line.finish(|data| {
            bytes[0] += data.len() as u64;
            trace.write(TraceStream::STDOUT, data);
        });
    }

    /// Returns the number of the shell's process in its container, once it is known.
    pub(crate) fn process(&self) -> Option<&str> {
        self.line.found()
    }

    /// Returns the bytes of standard output and standard error.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        self.bytes
    }
}

/// Returns the error of a shell that ended before it had its script: its exit code is not that of the script.
pub(crate) fn script_not_read(container: &str, code: i64) -> DockerError {
    DockerError::Broken {
        doing: format!("send the script to the shell in container {container}"),
        source: format!("it ended with exit code {code} before it had read the script").into(),
    }
}

/// Returns the error of a running stage whose output has ended.
pub(crate) fn output_lost() -> DockerError {
    DockerError::Broken {
        doing: "the connection to the output of the stage broke".to_owned(),
        source: "its output ended before the stage did, so the rest of it is unknown; with \
                 `engine = \"agent\"`, stages survive a broken connection"
            .into(),
    }
}
