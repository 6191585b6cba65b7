//! One process of a job and what it starts.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::children;
use crate::command::Prepared;
use crate::error::ProcessError;
use crate::leaf::Leaf;
use crate::scan::{self, Sought};
use crate::sys::{ChildStdio, Started, clone, once_written, posix};
use crate::tree::Tree;

/// Processes that are not over yet, in all trees of this program.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// One process and all it starts, as far as they can be told from others.
#[derive(Debug)]
pub(crate) struct Scope {
    tree: Arc<Tree>,
    leaf: Option<Leaf>,
    marker: String,
    oom_kills: Option<u64>,
}

impl Scope {
    pub(crate) fn new(tree: Arc<Tree>, marker: String) -> Result<Self, ProcessError> {
        let leaf = tree.leaf()?;
        let oom_kills = tree.oom_kills();
        // Counted before the start, so that no sweep takes what the process
        // starts for somebody's left-over.
        ACTIVE.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            tree,
            leaf,
            marker,
            oom_kills,
        })
    }

    /// Starts the main process in the leaf, or without if the kernel will not have it there.
    ///
    /// Some kernels kill at its birth whatever starts in a new group, if the group
    /// of the runner was itself killed before; see [`Leaf::is_reusable`].
    pub(crate) fn start(&mut self, command: &Prepared, stdio: ChildStdio) -> io::Result<Started> {
        let Some(leaf) = &self.leaf else {
            return start_without_leaf(command, stdio);
        };
        let mut refused = false;
        let started = once_written(|| {
            children::start(|| {
                clone::spawn(command, &stdio, Some(leaf.directory())).unwrap_or_else(|error| {
                    // Without room for processes the other way would not do either.
                    refused = error.kind() != io::ErrorKind::WouldBlock;
                    Err(error)
                })
            })
        });
        let reason = match started {
            Err(error) if refused && self.tree.is_closed() => return Err(error),
            Err(error) if refused => error,
            Ok(child) if !child.begun && !self.tree.may_be_killed() => {
                children::collect(child.pid)?;
                io::Error::other("the kernel kills what starts in a new group")
            }
            started => return started,
        };
        self.tree.give_up_cgroups(&reason);
        self.return_leaf();
        start_without_leaf(command, stdio)
    }

    /// Kills the group of the main process, and everything else in reach, at once.
    ///
    /// `leader` must not have been collected yet.
    pub(crate) fn kill(&self, leader: Option<Pid>) {
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        match &self.leaf {
            Some(leaf) => {
                if let Err(error) = leaf.kill() {
                    tracing::warn!(%error, "A cgroup leaf cannot be killed.");
                }
            }
            None if self.tree.trusts_groups() => {}
            None => {
                scan::kill(Sought::Marker(&self.marker), leader.as_slice(), &[]);
            }
        }
    }

    /// Returns whether it is certain that nothing lives in it any more.
    pub(crate) fn is_deserted(&self) -> bool {
        self.leaf.as_ref().is_some_and(Leaf::is_deserted)
    }

    /// Kills what outlived the main process and waits until it is gone.
    pub(crate) async fn end(&mut self, leader: Option<Pid>) -> Result<(), ProcessError> {
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
            // Whatever outlives its parent becomes our child, or is below one.
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

    /// Returns whether the kernel killed for want of memory since the start.
    pub(crate) fn oom_killed(&self) -> bool {
        self.tree.oom_kills() > self.oom_kills
    }
}

/// Starts a process in a session of its own; where the kernel or a sandbox has no `clone3`, in a
/// group of its own only, and then it can reach the runner's terminal, and has what the runner
/// inherited of open files.
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
            tracing::debug!(%error, "Processes get no session of their own here.");
            children::start(|| posix::spawn(command, stdio))
        }
        started => started,
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        ACTIVE.fetch_sub(1, Ordering::Relaxed);
        self.return_leaf();
    }
}

/// Kills what carries the marker until nothing does, and collects the dead.
pub(crate) fn sweep(sought: Sought<'_>, leader: Option<Pid>) -> Result<(), ProcessError> {
    let adopts = children::adopts();
    let orphans = || {
        let orphans = if adopts {
            children::adopted()
        } else {
            Vec::new()
        };
        // One that shed both marker and group could be any job's, so it is only
        // ours if no other job could have made it.
        let alone = ACTIVE.load(Ordering::Relaxed) <= usize::from(leader.is_some());
        if alone && !children::are_shared() {
            orphans
        } else {
            Vec::new()
        }
    };
    let ended = scan::end(sought, leader.as_slice(), orphans);
    ended
        .map(drop)
        .map_err(|count| ProcessError::Survivors { count })
}

/// Kills what carries a marker that begins so, in whatever tree it is.
pub(crate) async fn sweep_run(prefix: String) -> Result<(), ProcessError> {
    blocking(move || sweep(Sought::MarkerPrefix(&prefix), None)).await
}

/// Runs a scan of all processes where it holds up no other task.
pub(crate) async fn blocking<T: Send + 'static>(
    action: impl FnOnce() -> Result<T, ProcessError> + Send + 'static,
) -> Result<T, ProcessError> {
    match tokio::task::spawn_blocking(action).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down.
            Err(canceled) => Err(ProcessError::Containment {
                reason: "look for what is left".to_owned(),
                source: Some(io::Error::other(canceled)),
            }),
        },
    }
}
