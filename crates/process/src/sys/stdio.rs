//! The three standard descriptors: the child's ends and this process's.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::command::Stdin;

/// Descriptors 0, 1 and 2 of the child.
#[derive(Debug)]
pub(crate) struct ChildStdio {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// The other ends.
#[derive(Debug)]
pub(crate) struct OurStdio {
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Opens the descriptors for one child, all close-on-exec.
pub(crate) fn stdio(input: &Stdin) -> io::Result<(ChildStdio, OurStdio)> {
    let (child_stdin, stdin) = match input {
        Stdin::Null => (
            open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?,
            None,
        ),
        Stdin::Bytes(_) | Stdin::Piped => {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            (read, Some(write))
        }
    };
    let (stdout, child_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, child_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    let child = ChildStdio {
        stdin: above_standard(child_stdin)?,
        stdout: above_standard(child_stdout)?,
        stderr: above_standard(child_stderr)?,
    };
    Ok((
        child,
        OurStdio {
            stdin,
            stdout,
            stderr,
        },
    ))
}

/// Moves a descriptor out of 0 to 2.
///
/// A runner started with closed standard descriptors gets its pipes there, and the child's `dup2` calls would then
/// overwrite one another.
fn above_standard(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 {
        return Ok(fd);
    }
    Ok(fcntl_dupfd_cloexec(&fd, 3)?)
}
