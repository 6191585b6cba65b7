//! The log that receives a job's raw output and masks it.

use std::fmt::Debug;

/// Standard output or standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamKind {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One stream of a job's log. Bytes of a stream keep their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceStream {
    /// The writer, as in logs with timestamps: 0 the runner, 1 the job, from 15 the services.
    pub source: u8,
    /// The descriptor.
    pub kind: StreamKind,
}

impl TraceStream {
    /// Messages of the runner and the executor.
    pub const SYSTEM: Self = Self {
        source: 0,
        kind: StreamKind::Stdout,
    };
    /// Warnings and errors of the runner and the executor, visible even where their other messages are
    /// collapsed.
    pub const SYSTEM_WARNING: Self = Self {
        source: 0,
        kind: StreamKind::Stderr,
    };
    /// Standard output of the job.
    pub const STDOUT: Self = Self {
        source: 1,
        kind: StreamKind::Stdout,
    };
    /// Standard error of the job.
    pub const STDERR: Self = Self {
        source: 1,
        kind: StreamKind::Stderr,
    };

    /// Returns the stream of the service with this index, from 0.
    ///
    /// Services beyond the last two-digit hexadecimal number share that number.
    pub const fn service(index: u8, kind: StreamKind) -> Self {
        Self {
            source: 15u8.saturating_add(index),
            kind,
        }
    }
}

/// The log of one job.
///
/// All output of a job passes through it, because it masks secrets.
///
/// # Contract
///
/// - Several tasks may call `write` concurrently; bytes of one stream keep their order.
/// - `write` never fails and never waits for a reader. The log handles a full disk or a slow observer
///   itself, so the caller can drain its pipe.
/// - A secret is masked even when it is split over several writes.
/// - `idle` reports that a stream was silent for 100 ms: the log then shows a partial line that cannot
///   begin a secret.
pub trait JobTrace: Send + Sync + Debug {
    /// Appends bytes to a stream.
    fn write(&self, stream: TraceStream, data: &[u8]);

    /// Shows the partial line of a stream, except for a part that may begin a secret.
    fn idle(&self, stream: TraceStream);

    /// Masks `secret` in everything written from now on.
    fn add_mask(&self, secret: &str);
}

/// Messages of the runner and executors, as an extension of [`JobTrace`].
pub trait JobTraceExt: JobTrace {
    /// Writes a message of the runner.
    fn system_line(&self, text: &str) {
        write_line(self, TraceStream::SYSTEM, text);
    }

    /// Writes a warning of the runner, in yellow.
    fn warning_line(&self, text: &str) {
        let text = format!("\x1b[0;33mWARNING: {text}\x1b[0;m");
        write_line(self, TraceStream::SYSTEM_WARNING, &text);
    }

    /// Writes an error of the runner, in red.
    fn error_line(&self, text: &str) {
        let text = format!("\x1b[31;1mERROR: {text}\x1b[0;m");
        write_line(self, TraceStream::SYSTEM_WARNING, &text);
    }
}

impl<T: JobTrace + ?Sized> JobTraceExt for T {}

fn write_line<T: JobTrace + ?Sized>(trace: &T, stream: TraceStream, text: &str) {
    let mut line = Vec::with_capacity(text.len() + 1);
    line.extend_from_slice(text.as_bytes());
    line.push(b'\n');
    trace.write(stream, &line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_numbered_from_15() {
        let source = |index| TraceStream::service(index, StreamKind::Stdout).source;
        assert_eq!([source(0), source(3), source(255)], [0x0f, 0x12, 0xff]);
    }
}
