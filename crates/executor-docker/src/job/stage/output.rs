//! What a stage writes, on its way to the job's log.

use crate::error::DockerError;
use crate::job::stage::mark::MarkedLine;
use bollard::container::LogOutput;
use executor_core::{JobTrace, TraceStream};

/// Counts the bytes of a stage and gives them to the log.
#[derive(Debug)]
pub(crate) struct StageOutput<'t> {
    trace: &'t dyn JobTrace,
    line: MarkedLine,
    bytes: [u64; 2],
    /// The streams that wrote since the last silence.
    wrote: [bool; 2],
}

impl<'t> StageOutput<'t> {
    /// Gives all but the marked line to `trace`.
    pub(crate) fn new(trace: &'t dyn JobTrace, mark: String) -> Self {
        Self {
            trace,
            line: MarkedLine::new(mark),
            bytes: [0, 0],
            wrote: [false, false],
        }
    }

    /// Takes a piece.
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

    /// Says that nothing came for a while.
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

    /// Says that nothing will come any more.
    pub(crate) fn finish(&mut self) {
        let Self {
            trace, line, bytes, ..
        } = self;
        line.finish(|data| {
            bytes[0] += data.len() as u64;
            trace.write(TraceStream::STDOUT, data);
        });
    }

    /// Returns the process of the shell inside its container, once it is known.
    pub(crate) fn process(&self) -> Option<&str> {
        self.line.found()
    }

    /// Returns how many bytes came over standard output and standard error.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        self.bytes
    }
}

/// The error of a shell that ended and never said that it has its script: it had no more than the beginning of what it was
/// to read, and its code is not the script's.
pub(crate) fn unread(container: &str, code: i64) -> DockerError {
    DockerError::Broken {
        doing: format!("give the script to the shell in container {container}"),
        source: format!("it ended with exit code {code} before it had all of it").into(),
    }
}

/// The error of a stage whose output ended and which goes on.
pub(crate) fn cut() -> DockerError {
    DockerError::Broken {
        doing: "the connection to the output of the stage broke".to_owned(),
        source:
            "the end of its output came before its own, so what it wrote is not known; stages of \
                 `engine = \"agent\"` go on where a connection broke"
                .into(),
    }
}
