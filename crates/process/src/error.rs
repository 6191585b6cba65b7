//! What can go wrong between asking for a process and knowing how it ended.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// The error of every function of this crate.
///
/// A program that ran and failed is no error: it is an
/// [`Outcome`](crate::Outcome) whose status says so.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// There is no such program, neither at the given path nor on the child's `PATH`.
    #[error("program {program:?} not found")]
    NotFound {
        /// The program as it was named.
        program: String,
    },

    /// The directory the program was to start in cannot be entered.
    #[error("enter working directory {}", path.display())]
    WorkingDirectory {
        /// The directory.
        path: PathBuf,
        /// Why it cannot be entered.
        source: io::Error,
    },

    /// An argument or variable cannot be handed to a program at all.
    #[error("{what} cannot be passed to a program")]
    Unpassable {
        /// Which part is wrong, without its value, since that may be a secret.
        what: String,
    },

    /// The kernel refused to start the program.
    #[error("start {program:?}")]
    Spawn {
        /// The program as it was named.
        program: String,
        /// The kernel's reason.
        source: io::Error,
    },

    /// Reading a child's output or waiting for its end failed.
    #[error("wait for process {pid}")]
    Wait {
        /// The child.
        pid: u32,
        /// The kernel's reason.
        source: io::Error,
    },

    /// A process was killed and is still there; it hangs in the kernel.
    #[error("process {pid} still lives {} s after it was killed", after.as_secs())]
    Unkillable {
        /// The process.
        pid: u32,
        /// How long its end was awaited.
        after: Duration,
    },

    /// A tool did not end within its deadline and was killed.
    #[error("{program:?} did not end within {} ms", after.as_millis())]
    Deadline {
        /// The program as it was named.
        program: String,
        /// The deadline.
        after: Duration,
    },

    /// A tool was stopped because its caller was.
    #[error("{program:?} was stopped")]
    Stopped {
        /// The program as it was named.
        program: String,
    },

    /// Some processes of a tree outlived every attempt to kill them.
    #[error("{count} processes outlive their tree")]
    Survivors {
        /// How many were left.
        count: usize,
    },

    /// The journal cannot be written or read.
    #[error("journal {}", path.display())]
    Journal {
        /// The journal's file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },

    /// A kind or value that a journal line cannot hold.
    #[error(
        "the journal cannot note what has a tab or a newline in its name, or no name: {kind:?}"
    )]
    Unrecordable {
        /// The record's kind.
        kind: String,
    },

    /// A temporary directory cannot be made or removed.
    #[error("temporary directory {}", path.display())]
    TempDir {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },

    /// A directory cannot be shown over another one here.
    #[error("mount an overlay on {}", path.display())]
    Overlay {
        /// Where it was to appear.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },

    /// Something of ours is still mounted.
    #[error("unmount {}", path.display())]
    Unmount {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// The process cannot have a user namespace of its own.
    #[error("enter a user namespace: {step}")]
    UserNamespace {
        /// What was attempted.
        step: &'static str,
        /// Why it failed.
        source: io::Error,
    },

    /// Containment that was demanded cannot be had.
    #[error("contain processes: {reason}")]
    Containment {
        /// What is missing.
        reason: String,
        /// The kernel's word, if it said one.
        source: Option<io::Error>,
    },
}
