//! The group of one process and what it starts.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::cgroup::{DEATH_DEADLINE, Group};
use crate::group_state::GroupState;

/// The group of one process and what it starts, kept open for its next tenant.
#[derive(Debug)]
pub(crate) struct Leaf {
    group: Group,
    state: GroupState,
    killed: AtomicBool,
}

impl Leaf {
    /// Makes a leaf.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        let group = Group::create(path)?;
        let state = GroupState::open(group.path())?;
        Ok(Self {
            group,
            state,
            killed: AtomicBool::new(false),
        })
    }

    /// Returns the descriptor that `clone3` takes.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.state.directory().as_fd()
    }

    /// Kills every member.
    pub(crate) fn kill(&self) -> io::Result<()> {
        self.killed.store(true, Ordering::Relaxed);
        self.group.kill()
    }

    /// Returns whether another process can be started in it: not once it was killed.
    ///
    /// The kernel kills a child at birth if its group was killed during its `clone3`,
    /// and tells that from a count of kills. Linux 6.18 compares the count of the new
    /// group with that of the parent's, so what was killed once stays deadly.
    pub(crate) fn is_reusable(&self) -> bool {
        !self.killed.load(Ordering::Relaxed)
    }

    /// Returns whether it is as it was when it was made, fit for a process of another job.
    pub(crate) fn is_like_new(&self) -> bool {
        self.is_reusable() && self.state.is_like_new(0).unwrap_or(false)
    }

    /// Removes the leaf if nothing in it lives; else the group above does later.
    pub(crate) fn retire(self) {
        let _ = self.group.remove_blocking(Duration::ZERO);
    }

    /// Returns whether it is certain that nothing in it lives.
    pub(crate) fn is_deserted(&self) -> bool {
        self.state.is_populated().is_ok_and(|populated| !populated)
    }

    /// Kills what is left and waits until nothing lives.
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
