//! Starting a process with std's `posix_spawn`.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, PidfdFlags, Resource, pidfd_open, prlimit};

use super::{ChildStdio, Started};
use crate::command::Prepared;
use crate::limits;

/// Starts a process as the leader of its own group.
///
/// std uses `posix_spawn`, whose cost does not depend on the runner's size, because the program is an absolute path
/// and no setting here (hooks, user, group, session) needs a fork.
pub(crate) fn spawn(command: &Prepared, stdio: ChildStdio) -> io::Result<Started> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the crate that starts processes"
    )]
    let mut builder = Command::new(os(&command.program));
    builder.env_clear().process_group(0);
    let (name, args) = command
        .args
        .split_first()
        .expect("the first argument is the name");
    builder.arg0(os(name)).args(args.iter().map(|arg| os(arg)));
    for pair in &command.env {
        let bytes = pair.as_bytes();
        let split = bytes
            .iter()
            .position(|byte| *byte == b'=')
            .expect("a pair has a name");
        builder.env(
            OsStr::from_bytes(&bytes[..split]),
            OsStr::from_bytes(&bytes[split + 1..]),
        );
    }
    if let Some(directory) = &command.current_dir {
        builder.current_dir(os(directory));
    }
    builder
        .stdin(stdio.stdin)
        .stdout(stdio.stdout)
        .stderr(stdio.stderr);
    let child = builder.spawn()?;
    let pid = Pid::from_child(&child);
    // The child is not awaited yet, so its id cannot be reused. std could set limits only after a fork, so a child may
    // start another one before it has them.
    let limits = [
        (Resource::Nofile, limits::open_files()),
        (Resource::Locks, command.lock_limit),
    ];
    for (resource, limit) in limits {
        let _ = limit.map(|limit| prlimit(Some(pid), resource, limit));
    }
    match pidfd_open(pid, PidfdFlags::NONBLOCK) {
        Ok(pidfd) => Ok(Started {
            pid,
            pidfd,
            did_run: true,
        }),
        Err(errno) => {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
            let _ = super::reap::wait_for(pid);
            Err(errno.into())
        }
    }
}

fn os(text: &CStr) -> &OsStr {
    OsStr::from_bytes(text.to_bytes())
}
