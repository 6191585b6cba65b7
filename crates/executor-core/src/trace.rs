//! The port through which a job's output leaves: masked behind it, raw before it.

use std::fmt::Debug;

/// Whether bytes came over standard output or standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamKind {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One stream of a job's log. Order is kept within a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceStream {
    /// Who writes, as logs with timestamps show it: 0 the runner, 1 the job, from 15 the services.
    pub source: u8,
    /// Over which descriptor.
    pub kind: StreamKind,
}

impl TraceStream {
    /// What the runner and the executor say themselves.
    pub const SYSTEM: Self = Self {
        source: 0,
        kind: StreamKind::Stdout,
    };
    /// Warnings and errors of the runner and the executor: what a reader should see even where the
    /// rest of what they say is folded away.
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
    /// Services past the last two-digit number, in hexadecimal, share it.
    pub const fn service(index: u8, kind: StreamKind) -> Self {
        Self {
            source: 15u8.saturating_add(index),
            kind,
        }
    }
}

/// The log of one job.
///
/// All output of a job goes through here and nowhere else, because here secrets are masked.
///
/// # Contract
///
/// - `write` may be called from several tasks at once; bytes of one stream keep their order.
/// - `write` never fails and never waits for a reader: a full disk or a slow observer is the log's
///   own trouble, and the caller keeps draining its pipe.
/// - A secret is masked wherever a caller splits its writes.
/// - `idle` says that nothing came for a while (100 ms): a partial line that cannot begin a secret
///   appears now.
pub trait JobTrace: Send + Sync + Debug {
    /// Appends bytes to a stream.
    fn write(&self, stream: TraceStream, data: &[u8]);

    /// Lets the partial line of a stream appear, as far as it cannot begin a secret.
    fn idle(&self, stream: TraceStream);

    /// Masks `secret` in everything written from now on.
    fn add_mask(&self, secret: &str);
}

/// What the runner and executors write themselves; sugar over [`JobTrace`].
pub trait JobTraceExt: JobTrace {
    /// Writes a line of the runner's own.
    fn system_line(&self, text: &str) {
        write_line(self, TraceStream::SYSTEM, text);
    }

    /// Writes a warning of the runner's own, in yellow.
    fn warning_line(&self, text: &str) {
        let text = format!("\x1b[0;33mWARNING: {text}\x1b[0;m");
        write_line(self, TraceStream::SYSTEM_WARNING, &text);
    }

    /// Writes an error of the runner's own, in red.
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
