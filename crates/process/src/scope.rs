//! One process of a job and its descendants.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::children;
use crate::command::{Descendants, Prepared};
use crate::error::ProcessError;
use crate::leaf::Leaf;
use crate::limits::{has_lock_limit, lock_limits};
use crate::scan::{self, Sought};
use crate::sys::{ChildStdio, Started, clone, once_written, posix};
use crate::tree::Tree;

/// The number of running processes in all trees of this program.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// One process and its descendants, as far as they can be identified.
#[derive(Debug)]
pub(crate) struct Scope {
    tree: Arc<Tree>,
    leaf: Option<Leaf>,
    marker: String,
    descendants: Descendants,
    oom_kills: Option<u64>,
}

impl Scope {
    pub(crate) fn new(
        tree: Arc<Tree>,
        marker: String,
        descendants: Descendants,
    ) -> Result<Self, ProcessError> {
        let leaf = tree.leaf()?;
        let oom_kills = tree.oom_kills();
        // Counted before the start, so that no sweep mistakes a descendant for a leftover.
        ACTIVE.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            tree,
            leaf,
            marker,
            descendants,
            oom_kills,
        })
    }

    /// Starts the main process in the leaf, or outside if the kernel refuses.
    ///
    /// Some kernels kill every child that starts in a new cgroup, if the runner's own cgroup was killed
    /// before; see [`Leaf::is_reusable`].
    pub(crate) fn start(&mut self, command: &Prepared, stdio: ChildStdio) -> io::Result<Started> {
        let Some(leaf) = &self.leaf else {
            return start_without_leaf(command, stdio);
        };
        let mut refused = false;
        let started = once_written(|| {
            children::start(|| {
                clone::spawn(command, &stdio, Some(leaf.directory())).unwrap_or_else(|error| {
                    // Without room for processes a start outside would fail too.
                    refused = error.kind() != io::ErrorKind::WouldBlock;
                    Err(error)
                })
            })
        });
        let reason = match started {
            Err(error) if refused && self.tree.is_closed() => return Err(error),
            Err(error) if refused => error,
            Ok(child) if !child.did_run && !self.tree.may_be_killed() => {
                children::collect(child.pid)?;
                io::Error::other("the kernel kills processes that start in a new cgroup")
            }
            started => return started,
        };
        self.tree.give_up_cgroups(&reason);
        self.return_leaf();
        start_without_leaf(command, stdio)
    }

    /// Kills the main process's group at once, and all other known processes unless they may stay.
    ///
    /// `leader` must not have been collected yet.
    pub(crate) fn kill(&self, leader: Option<Pid>) {
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        if self.descendants == Descendants::Stay {
            return;
        }
        match &self.leaf {
            Some(leaf) => {
                if let Err(error) = leaf.kill() {
                    tracing::warn!(%error, "A leaf cgroup could not be killed.");
                }
            }
            None if self.tree.trusts_groups() => {}
            None => {
                scan::kill(Sought::Marker(&self.marker), leader.as_slice(), &[]);
            }
        }
    }

    /// Returns whether certainly no process of it lives.
    pub(crate) fn is_deserted(&self) -> bool {
        self.leaf.as_ref().is_some_and(Leaf::is_deserted)
    }

    /// Kills the survivors of the main process, unless they may stay, and waits until they are gone.
    pub(crate) async fn end(&mut self, leader: Option<Pid>) -> Result<(), ProcessError> {
        if self.descendants == Descendants::Stay {
            return Ok(());
        }
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        if self.tree.trusts_groups() {
            return Ok(());
        }
        if let Some(leaf) = &self.leaf {
            leaf.empty()
                .await
                .map_err(|source| ProcessError::Containment {
                    reason: "empty the cgroup of an ended process".to_owned(),
                    source: Some(source),
                })?;
            if children::adopts() {
                children::adopted();
            }
            return Ok(());
        }
        if children::adopts() && children::adopted().is_empty() {
            // A process that outlives its parent is an adopted child, or below one.
            return Ok(());
        }
        let marker = self.marker.clone();
        blocking(move || sweep(Sought::Marker(&marker), leader)).await
    }

    fn return_leaf(&mut self) {
        if let Some(leaf) = self.leaf.take() {
            self.tree.return_leaf(leaf);
        }
    }

    /// Returns whether the kernel killed a process for lack of memory since the start.
    pub(crate) fn oom_killed(&self) -> bool {
        self.tree.oom_kills() > self.oom_kills
    }
}

/// Starts a process in a session of its own.
///
/// Where the kernel or a sandbox does not support `clone3`, it only gets a process group of its own: it can then
/// reach the runner's terminal, and inherits files that the runner inherited.
fn start_without_leaf(command: &Prepared, stdio: ChildStdio) -> io::Result<Started> {
    let mut refused = false;
    let started = once_written(|| {
        children::start(|| {
            clone::spawn(command, &stdio, None).unwrap_or_else(|error| {
                refused = true;
                Err(error)
            })
        })
    });
    match started {
        Err(error) if refused => {
            tracing::debug!(%error, "Processes cannot get sessions of their own.");
            children::start(|| posix::spawn(command, stdio))
        }
        started => started,
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        match self.descendants {
            Descendants::End => release_active(1),
            // Until the tree is closed, its orphans are no leftovers.
            Descendants::Stay => self.tree.stay_active(),
        }
        self.return_leaf();
    }
}

/// Ends the count of this number of running processes.
pub(crate) fn release_active(count: usize) {
    ACTIVE.fetch_sub(count, Ordering::Relaxed);
}

/// Kills processes with the marker until there are none, and collects them.
pub(crate) fn sweep(sought: Sought<'_>, leader: Option<Pid>) -> Result<(), ProcessError> {
    let adopts = children::adopts();
    let limits = match sought {
        Sought::Marker(marker) | Sought::MarkerPrefix(marker) => lock_limits(marker),
    };
    let orphans = || {
        let mut orphans = if adopts {
            children::adopted()
        } else {
            Vec::new()
        };
        // An orphan without marker, group and limit could belong to any job, so it is killed only if no other
        // job is running.
        let alone = ACTIVE.load(Ordering::Relaxed) <= usize::from(leader.is_some());
        if !alone || children::are_shared() {
            orphans.retain(|pid| limits.as_ref().is_some_and(|it| has_lock_limit(*pid, it)));
        }
        orphans
    };
    let ended = scan::end(sought, leader.as_slice(), orphans);
    ended
        .map(drop)
        .map_err(|count| ProcessError::Survivors { count })
}

/// Kills processes whose marker has this prefix, in all trees.
pub(crate) async fn sweep_run(prefix: String) -> Result<(), ProcessError> {
    blocking(move || sweep(Sought::MarkerPrefix(&prefix), None)).await
}

/// Runs a scan of all processes on a thread for blocking work.
pub(crate) async fn blocking<T: Send + 'static>(
    action: impl FnOnce() -> Result<T, ProcessError> + Send + 'static,
) -> Result<T, ProcessError> {
    match tokio::task::spawn_blocking(action).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down.
            Err(canceled) => Err(ProcessError::Containment {
                reason: "find remaining processes".to_owned(),
                source: Some(io::Error::other(canceled)),
            }),
        },
    }
}
