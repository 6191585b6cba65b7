//! The error of this crate.

use executor_core::HumanDuration;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// The error of every function of this crate.
///
/// A program that fails is not an error, but an [`Outcome`](crate::Outcome) with its status.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The program does not exist at the given path or in the child's `PATH`.
    #[error("program {program:?} not found")]
    NotFound {
        /// The program as named by the caller.
        program: String,
    },

    /// The working directory cannot be entered.
    #[error("enter working directory {}", path.display())]
    WorkingDirectory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// An argument or variable cannot be passed to a program.
    #[error("{what} cannot be passed to a program")]
    Unpassable {
        /// The invalid part, without its value, which may be secret.
        what: String,
    },

    /// The kernel refused to start the program.
    #[error("start {program:?}")]
    Spawn {
        /// The program as named by the caller.
        program: String,
        /// The system's error.
        source: io::Error,
    },

    /// Reading a child's output or waiting for its end failed.
    #[error("wait for process {pid}")]
    Wait {
        /// The child.
        pid: u32,
        /// The system's error.
        source: io::Error,
    },

    /// A killed process still exists: it hangs in the kernel.
    #[error("process {pid} still lives {} after it was killed", HumanDuration(*after))]
    Unkillable {
        /// The process.
        pid: u32,
        /// How long the runner waited for its end.
        after: Duration,
    },

    /// A tool did not end within its deadline and was killed.
    #[error("{program:?} did not end within {}", HumanDuration(*after))]
    Deadline {
        /// The program as named by the caller.
        program: String,
        /// The deadline.
        after: Duration,
    },

    /// A tool was stopped at the request of its caller.
    #[error("{program:?} was stopped")]
    Stopped {
        /// The program as named by the caller.
        program: String,
    },

    /// Some processes of a tree outlived every attempt to kill them.
    #[error("{count} processes outlive their tree")]
    Survivors {
        /// The number of processes.
        count: usize,
    },

    /// The journal cannot be written or read.
    #[error("journal {}", path.display())]
    Journal {
        /// The journal's file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// A kind or value that cannot be written in a journal line.
    #[error("a journal record must not be empty or contain a tab or newline: {kind:?}")]
    Unrecordable {
        /// The record's kind.
        kind: String,
    },

    /// A temporary directory cannot be created or removed.
    #[error("temporary directory {}", path.display())]
    TempDir {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// An overlay cannot be mounted.
    #[error("mount an overlay on {}", path.display())]
    Overlay {
        /// The mount point.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// A mount cannot be removed.
    #[error("unmount {}", path.display())]
    Unmount {
        /// The mount point.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// The process cannot enter a user namespace of its own.
    #[error("enter a user namespace: {step}")]
    UserNamespace {
        /// The failed step.
        step: &'static str,
        /// The system's error.
        source: io::Error,
    },

    /// Processes cannot be contained as required.
    #[error("contain processes: {reason}")]
    Containment {
        /// The reason.
        reason: String,
        /// The system's error, if any.
        source: Option<io::Error>,
    },
}
