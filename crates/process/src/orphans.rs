//! Adopting and collecting orphans, for the first process of a container or its substitute.

use std::io;

use crate::children;

/// Makes this program the parent of all orphaned descendants, and limits the killing of orphans to those with
/// a marker.
///
/// For a program that also inherits processes of others, such as those that an entry point started before it.
/// [`collect_orphans`] collects these when they are dead, and they are never killed. A leftover of a job is
/// still found by its marker or group.
///
/// # Errors
///
/// Fails if the kernel refuses, which does not happen in practice.
pub fn adopt_orphans() -> io::Result<()> {
    children::share();
    children::become_subreaper()
}

/// Collects dead orphans. Call it on every SIGCHLD.
///
/// It leaves children that this crate started to the owner of their [`Process`](crate::Process). It does
/// collect children that other code started, so only a program that starts all processes through this crate
/// may call it.
pub fn collect_orphans() {
    children::collect_abandoned();
    children::collect_unawaited();
}
