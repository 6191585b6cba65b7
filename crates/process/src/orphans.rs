//! Adopting and collecting orphans, for the first process of a container or its substitute.

use std::io;

use crate::children;

/// Lets orphans of all descendants come to this program, and of its jobs only those end that carry their marker.
///
/// For a program that others' processes come to as well: what an entry point started before it, what somebody
/// starts from outside. Such orphans are collected by [`collect_orphans`] when they are dead, and never killed,
/// while one that a job left behind is still found by its marker or its group.
///
/// # Errors
///
/// Fails if the kernel refuses, which it does to no process.
pub fn adopt_orphans() -> io::Result<()> {
    children::share();
    children::become_subreaper()
}

/// Collects the orphans that are dead by now. Call it on every SIGCHLD.
///
/// Spares the children that this crate started: the owner of a [`Process`](crate::Process) collects
/// those. Children that other code started are *not* spared, so only a program that starts everything through
/// this crate may call it.
pub fn collect_orphans() {
    children::collect_abandoned();
    children::collect_strangers();
}
