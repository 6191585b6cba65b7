//! Starts processes and collects ended ones.
//!
//! There are two methods, and neither copies the runner's page tables: [`clone`] gives the child a session of its
//! own and starts it inside a leaf cgroup; [`posix`] is std's `posix_spawn`, for systems that forbid `clone3`.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod clone;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "clone_unsupported.rs"]
pub(crate) mod clone;
pub(crate) mod posix;
pub(crate) mod reap;
mod stdio;

pub(crate) use stdio::{ChildStdio, OurStdio, stdio};

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use rustix::process::Pid;

/// A process that was just started and is not awaited yet.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
    /// Whether the child ran at all: a child whose cgroup is killed while it is created does not.
    pub(crate) did_run: bool,
}

/// The number of attempts at a program that is open for writing: 15 ms in all.
const TRIES_WHILE_BUSY: u32 = 4;

/// Retries a start that failed because the program is open for writing.
///
/// A child that another thread creates holds all open files of this process until `execve`. If one of them is a
/// program that was just written, it cannot be started until then, although its writer has closed it.
pub(crate) fn once_written<T>(mut start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for tried in 0..TRIES_WHILE_BUSY {
        match start() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(1 << tried));
            }
            started => return started,
        }
    }
    start()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(times: u32) -> (io::Result<u32>, u32) {
        let mut started = 0;
        let start = || {
            started += 1;
            if started <= times {
                return Err(io::Error::from(ErrorKind::ExecutableFileBusy));
            }
            Ok(started)
        };
        (once_written(start), started)
    }

    #[test]
    fn program_being_written_is_retried() {
        assert_eq!(busy(0).0.unwrap(), 1);
        assert_eq!(busy(2).0.unwrap(), 3);
        let (result, started) = busy(100);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::ExecutableFileBusy);
        assert_eq!(started, TRIES_WHILE_BUSY + 1);
    }

    #[test]
    fn other_errors_are_returned_at_once() {
        let mut started = 0;
        let start = || {
            started += 1;
            Err::<(), _>(io::Error::from(ErrorKind::NotFound))
        };
        once_written(start).unwrap_err();
        assert_eq!(started, 1);
    }
}
