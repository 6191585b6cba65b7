//! Mounting without root.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities, unshare_unsafe};

use crate::error::ProcessError;

/// Set once, while there is only one thread.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Returns whether this process may mount.
pub fn can_mount() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Moves this process to a user namespace and a mount namespace of its own, in which it may mount.
///
/// User and group do not change, and its mounts are invisible outside. Call it at the very start, before
/// other threads and the tokio runtime exist. It cannot be undone, and it limits the processes started later:
/// `sudo` and other set-uid programs do not work, and a container engine outside does not see the mounts.
///
/// # Errors
///
/// Fails if there are other threads, or if the system does not allow user namespaces.
pub fn enter_user_namespace() -> Result<(), ProcessError> {
    let failed = |step| move |source: io::Error| ProcessError::UserNamespace { step, source };
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS;
    #[expect(
        unsafe_code,
        reason = "unsafe as it may split a process's threads; the kernel refuses these flags \
                  where there is more than one"
    )]
    // SAFETY: neither flag separates descriptors or memory between threads.
    let unshared = unsafe { unshare_unsafe(flags) };
    unshared.map_err(|error| failed("unshare")(error.into()))?;
    match fs::write("/proc/self/setgroups", "deny") {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("give up setgroups")(error));
        }
        _ => {}
    }
    let map = |id: u32| format!("{id} {id} 1\n");
    fs::write("/proc/self/uid_map", map(user)).map_err(failed("map the user"))?;
    fs::write("/proc/self/gid_map", map(group)).map_err(failed("map the group"))?;
    ENTERED.store(true, Ordering::Release);
    Ok(())
}

/// Calls `start` where later mounts of this process are invisible, if it has a mount namespace of its own.
///
/// A guardian could not unmount there, because started programs have no capabilities. It does not need to
/// if it never sees the mounts: it can remove a directory that is a mount point elsewhere, which ends the
/// mount.
pub(crate) fn without_later_mounts<T: Send>(start: impl FnOnce() -> T + Send) -> io::Result<T> {
    if !ENTERED.load(Ordering::Acquire) {
        return Ok(start());
    }
    let isolated = || {
        #[expect(
            unsafe_code,
            reason = "unsafe as it separates this thread from the others; the thread ends here"
        )]
        // SAFETY: the flag separates neither descriptors nor memory, and the thread does nothing else.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        Ok(start())
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, isolated)?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
