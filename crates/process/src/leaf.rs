//! The cgroup of one process and its descendants.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::cgroup::{DEATH_DEADLINE, Group};
use crate::cgroup_state::CgroupState;

/// The cgroup of one process and its descendants, kept open for the next process.
#[derive(Debug)]
pub(crate) struct Leaf {
    group: Group,
    state: CgroupState,
    killed: AtomicBool,
}

impl Leaf {
    /// Creates a leaf.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        let group = Group::create(path)?;
        let state = CgroupState::open(group.path())?;
        Ok(Self {
            group,
            state,
            killed: AtomicBool::new(false),
        })
    }

    /// Returns the descriptor for `clone3`.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.state.directory().as_fd()
    }

    /// Kills every member.
    pub(crate) fn kill(&self) -> io::Result<()> {
        self.killed.store(true, Ordering::Relaxed);
        self.group.kill()
    }

    /// Returns whether another process can be started in it: it must not have been killed.
    ///
    /// The kernel kills a new child if its cgroup was killed during its `clone3`, which it detects by a count
    /// of kills. Linux 6.18 compares the count of the new cgroup with that of the parent's cgroup, so in a
    /// cgroup that was killed once, every new child is killed.
    pub(crate) fn is_reusable(&self) -> bool {
        !self.killed.load(Ordering::Relaxed)
    }

    /// Returns whether no process and no cgroup is in it, and it can be used again.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_reusable() && self.state.is_empty(0).unwrap_or(false)
    }

    /// Returns whether it is unchanged since its creation, and so fit for another job.
    pub(crate) fn is_like_new(&self) -> bool {
        self.is_reusable() && self.state.is_like_new(0).unwrap_or(false)
    }

    /// Removes the leaf if no process lives in it; otherwise it is removed later with its parent.
    pub(crate) fn retire(self) {
        let _ = self.group.remove_blocking(Duration::ZERO);
    }

    /// Returns whether certainly no process lives in it.
    pub(crate) fn is_deserted(&self) -> bool {
        self.state.is_populated().is_ok_and(|populated| !populated)
    }

    /// Kills all members and waits until they are gone.
    pub(crate) async fn empty(&self) -> io::Result<()> {
        if !self.state.is_populated()? {
            return Ok(());
        }
        self.kill()?;
        let deadline = Instant::now() + DEATH_DEADLINE;
        let mut pause = Duration::from_millis(1);
        while self.state.is_populated()? {
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        Ok(())
    }
}
