//! Who wrote a piece of the log, and on which of its two outputs.

/// The number of a writer in the timestamped log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u8);

impl StreamId {
    /// The runner and the executor: `00`.
    pub const RUNNER: Self = Self(0x00);
    /// The job's own work: `01`.
    pub const JOB: Self = Self(0x01);

    /// Returns the number of the job's `index`th service, counted from 0: `0f` and up.
    ///
    /// Services past the last two-digit number share it.
    pub fn service(index: u8) -> Self {
        Self(index.saturating_add(0x0f))
    }

    /// Returns the number as it stands, in hexadecimal, in the log.
    pub fn number(self) -> u8 {
        self.0
    }
}

/// Which output of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamKind {
    /// Standard output, `O` in the log.
    Stdout,
    /// Standard error, `E` in the log.
    Stderr,
}

impl StreamKind {
    pub(crate) fn letter(self) -> u8 {
        match self {
            Self::Stdout => b'O',
            Self::Stderr => b'E',
        }
    }
}

/// One stream of a job's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    /// The writer.
    pub id: StreamId,
    /// The writer's output.
    pub kind: StreamKind,
}

impl Stream {
    /// What the runner itself says.
    pub const RUNNER: Self = Self::new(StreamId::RUNNER, StreamKind::Stdout);
    /// What the runner itself warns of.
    pub const RUNNER_WARNING: Self = Self::new(StreamId::RUNNER, StreamKind::Stderr);
    /// Standard output of the job's scripts.
    pub const JOB_STDOUT: Self = Self::new(StreamId::JOB, StreamKind::Stdout);
    /// Standard error of the job's scripts.
    pub const JOB_STDERR: Self = Self::new(StreamId::JOB, StreamKind::Stderr);

    /// Names a stream.
    pub const fn new(id: StreamId, kind: StreamKind) -> Self {
        Self { id, kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_numbered_from_0f() {
        assert_eq!(StreamId::service(0).number(), 0x0f);
        assert_eq!(StreamId::service(3).number(), 0x12);
        assert_eq!(StreamId::service(255).number(), 0xff);
    }
}
