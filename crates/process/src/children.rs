//! The children of this process: those it started, and adopted orphans.
//!
//! A runner that is a subreaper, or the first process of a container, inherits every orphan of its jobs and
//! must collect it. It must never collect a child that another part of the program started and awaits.

use parking_lot::{Mutex, RwLock};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, getpid, set_child_subreaper};

use crate::scan::{self, State};
use crate::status::{ExitStatus, Usage};
use crate::sys::Started;
use crate::sys::reap::{try_collect, wait_for};

/// Read-locked while a child is started or collected. [`adopted`] locks it for writing, so that it never sees
/// a child before it is in the set. Also, the kernel's list of children may skip entries while it shrinks.
static CHANGING: RwLock<()> = RwLock::new(());
/// Children that this crate awaits.
static AWAITED: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);
/// Children whose owner was dropped; collected once dead.
static ABANDONED: Mutex<Vec<Pid>> = Mutex::new(Vec::new());
/// Whether this process also adopts orphans of other programs.
static SHARED: AtomicBool = AtomicBool::new(false);

/// Makes this process the parent of orphaned descendants, instead of init.
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Records that this process also adopts orphans of other programs.
pub(crate) fn share() {
    SHARED.store(true, Ordering::Relaxed);
}

/// Shared while a child is started, which holds all open files of this process until its program is loaded.
pub(crate) static STARTING: RwLock<()> = RwLock::new(());

/// Returns whether an orphan without a marker may belong to another program.
pub(crate) fn are_shared() -> bool {
    SHARED.load(Ordering::Relaxed)
}

/// Starts a child and records that it is awaited.
pub(crate) fn start(spawn: impl FnOnce() -> io::Result<Started>) -> io::Result<Started> {
    let _changing = CHANGING.read();
    let _starting = STARTING.read();
    let started = spawn()?;
    awaited(|set| set.insert(started.pid));
    Ok(started)
}

/// Collects a dead child.
pub(crate) fn collect(pid: Pid) -> io::Result<(ExitStatus, Usage)> {
    let _changing = CHANGING.read();
    let result = wait_for(pid);
    awaited(|set| set.remove(&pid));
    result
}

/// Leaves a killed child to the next collection.
pub(crate) fn abandon(pid: Pid) {
    ABANDONED.lock().push(pid);
    collect_abandoned();
}

/// Collects dead abandoned children.
pub(crate) fn collect_abandoned() {
    let mut abandoned = ABANDONED.lock();
    if abandoned.is_empty() {
        return;
    }
    let _changing = CHANGING.read();
    abandoned.retain(|pid| {
        let dead = try_collect(*pid);
        if dead {
            awaited(|set| set.remove(pid));
        }
        !dead
    });
}

/// Returns whether this process adopts orphans.
pub(crate) fn adopts() -> bool {
    getpid().is_init() || rustix::process::child_subreaper().is_ok_and(|pid| pid.is_some())
}

/// Collects dead adopted children and returns the living ones.
///
/// A child counts as adopted if it is not awaited and not in this process's group. A child that other code
/// started in the usual way is in this group, and a job's process never is.
pub(crate) fn adopted() -> Vec<Pid> {
    let _still = CHANGING.write();
    let own_group = rustix::process::getpgrp();
    let mut living = Vec::new();
    for pid in children() {
        if awaited(|set| set.contains(&pid)) {
            continue;
        }
        let Some(process) = scan::process(pid) else {
            continue;
        };
        if process.parent != Some(getpid()) || process.group == Some(own_group) {
            continue;
        }
        if process.state == State::Dead {
            try_collect(pid);
        } else {
            living.push(pid);
        }
    }
    living
}

/// Collects all dead children that are not awaited, of any process group.
pub(crate) fn collect_unawaited() {
    let _still = CHANGING.write();
    for pid in children() {
        if !awaited(|set| set.contains(&pid)) {
            try_collect(pid);
        }
    }
}

/// Lists the children of all threads of this process.
fn children() -> Vec<Pid> {
    let mut children = Vec::new();
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return scan::children_of(getpid());
    };
    for thread in threads.flatten() {
        // The file is missing in kernels without checkpoint support.
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => children.extend(list.split_ascii_whitespace().filter_map(scan::number)),
            Err(_) if thread.path().exists() => return scan::children_of(getpid()),
            Err(_) => {}
        }
    }
    children
}

fn awaited<T>(action: impl FnOnce(&mut HashSet<Pid>) -> T) -> T {
    let mut set = AWAITED.lock();
    action(set.get_or_insert_default())
}

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
    share();
    become_subreaper()
}

/// Collects dead orphans, but no children that other code started in the process group of this program.
///
/// The end of each [`Process`](crate::Process) does so too. For a program that adopts orphans of other programs and may start none itself
/// for a long time.
pub fn collect_adopted() {
    adopted();
}

/// Collects dead orphans. Call it on every SIGCHLD.
///
/// It leaves children that this crate started to the owner of their [`Process`](crate::Process). It does
/// collect children that other code started, so only a program that starts all processes through this crate
/// may call it.
pub fn collect_orphans() {
    collect_abandoned();
    collect_unawaited();
}
