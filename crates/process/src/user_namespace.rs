//! Mounting without being root.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities, unshare_unsafe};

use crate::error::ProcessError;

/// Set once, by the only thread there is: a process has one user namespace.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Returns whether this process may mount.
pub fn can_mount() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Gives this process a user namespace and a mount namespace of its own, so that it may mount.
///
/// User and group stay what they are, and nothing it mounts is seen outside. Call it at the very
/// start, before any thread is: before the tokio runtime, too. It cannot be undone, and it costs
/// what is started from here on: `sudo` and other set-uid programs do not work, and a container
/// engine outside does not see the mounts.
///
/// # Errors
///
/// Fails if there are other threads, or the system does not let users have namespaces.
pub fn enter_user_namespace() -> Result<(), ProcessError> {
    let failed = |step| move |source: io::Error| ProcessError::UserNamespace { step, source };
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS;
    #[expect(
        unsafe_code,
        reason = "unsafe as it may split a process's threads; the kernel refuses these flags \
                  where there is more than one"
    )]
    // SAFETY: neither flag parts descriptors or memory between threads.
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

/// Does `start` where no later mount of this process is seen, if it mounts in a namespace of its own.
///
/// A guardian has no right to unmount there: programs that are started have no capabilities. It
/// need not, if it never sees the mounts. A directory something is mounted on elsewhere can be
/// removed, and the mount ends with that.
pub(crate) fn apart_from_mounts<T: Send>(start: impl FnOnce() -> T + Send) -> io::Result<T> {
    if !ENTERED.load(Ordering::Acquire) {
        return Ok(start());
    }
    let apart = || {
        #[expect(
            unsafe_code,
            reason = "unsafe as it parts this thread from the others, which ends here"
        )]
        // SAFETY: the flag parts neither descriptors nor memory, and the thread does nothing else.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        Ok(start())
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, apart)?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
