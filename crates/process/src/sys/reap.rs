//! Collects an ended child.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::status::{ExitStatus, Usage};

/// Registers a pidfd with the runtime; it becomes readable when the process has ended.
#[expect(
    unsafe_code,
    reason = "the safe constructors of `AsyncFd` are deprecated as unsound"
)]
pub(crate) fn watch(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is an open descriptor, and it cannot be taken out of the `AsyncFd`.
    Ok(unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) }?)
}

/// Returns whether a child has ended, without collecting it.
///
/// Until [`wait_for`] the dead child keeps its id, so its process group can still be killed safely.
pub(crate) fn has_ended(pidfd: impl AsFd) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    Ok(waitid(WaitId::PidFd(pidfd.as_fd()), options)?.is_some())
}

/// Collects a child if it has ended; also true if it was collected already.
pub(crate) fn try_collect(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

/// Collects a child; waits for its end if necessary.
#[expect(
    unsafe_code,
    reason = "wait4 is the only call that returns status and usage together"
)]
pub(crate) fn wait_for(pid: Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status: libc::c_int = 0;
    // SAFETY: `rusage` consists of integers only, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live, writable values of the right type.
        let result = unsafe {
            libc::wait4(
                pid.as_raw_nonzero().get(),
                &raw mut status,
                0,
                &raw mut usage,
            )
        };
        if result != -1 {
            return Ok((exit_status(status), convert(&usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn exit_status(status: libc::c_int) -> ExitStatus {
    if libc::WIFSIGNALED(status) {
        return ExitStatus::Signaled {
            signal: libc::WTERMSIG(status),
            core_dumped: libc::WCOREDUMP(status),
        };
    }
    let code = u8::try_from(libc::WEXITSTATUS(status)).expect("the kernel keeps eight bits");
    ExitStatus::Exited(code)
}

fn convert(usage: &libc::rusage) -> Usage {
    Usage {
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        // Linux counts in KiB.
        max_resident: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u32::try_from(time.tv_usec).unwrap_or(0);
    Duration::new(seconds, micros * 1000)
}
