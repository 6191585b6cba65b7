//! The kernel's side: starting a process and collecting its remains.
//!
//! Two ways of starting, neither of which copies the runner's page tables:
//! [`clone`] gives the child a session of its own and puts it into a cgroup leaf before its
//! first instruction, [`posix`] is std's `posix_spawn` and serves where `clone3` is forbidden.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod clone;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "clone_unsupported.rs"]
pub(crate) mod clone;
pub(crate) mod posix;
pub(crate) mod reap;
mod stdio;

pub(crate) use stdio::{ChildStdio, OurStdio, stdio};

use std::os::fd::OwnedFd;

use rustix::process::Pid;

/// A process that was just started and is not waited for yet.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
    /// Whether it ran at all: a child whose group is killed while it is made never does.
    pub(crate) begun: bool,
}
