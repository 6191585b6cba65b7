//! The group of a job, handed on from one job to the next.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::cgroup::Group;
use crate::group_state::{GroupState, read_number};
use crate::leaf::Leaf;

/// The group of a job, with a leaf for each of its processes.
///
/// To make and remove these groups is about a tenth of what a small job costs, so a job that
/// leaves its own [like new](Self::is_like_new) hands it on to a later one of the same run. Only
/// what the kernel counts goes on: times of processors.
#[derive(Debug)]
pub(crate) struct JobGroup {
    group: Group,
    state: GroupState,
    /// Tells of processes killed for want of memory; not there without the controller.
    memory_events: Option<File>,
    /// Leaves without a tenant.
    spare: Vec<Leaf>,
    /// How many leaves have one.
    lent: usize,
    /// How many leaves were made, which names them.
    made: u64,
}

impl JobGroup {
    /// Makes the group.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        let group = Group::create(path)?;
        let opened = GroupState::open(group.path());
        let state = opened.inspect_err(|_| drop(group.remove_blocking(Duration::ZERO)))?;
        let memory_events = File::open(group.path().join("memory.events")).ok();
        Ok(Self {
            group,
            state,
            memory_events,
            spare: Vec::new(),
            lent: 0,
            made: 0,
        })
    }

    /// Returns the group around the leaves.
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Returns a leaf for a process: a spare one, or else a new one.
    pub(crate) fn lend(&mut self) -> io::Result<Leaf> {
        let leaf = if let Some(leaf) = self.spare.pop() {
            leaf
        } else {
            self.made += 1;
            Leaf::create(self.group.path().join(self.made.to_string()))?
        };
        self.lent += 1;
        Ok(leaf)
    }

    /// Takes a leaf back from its tenant.
    ///
    /// One with survivors serves the next process as well: its end kills them, and so does the end
    /// of the job.
    pub(crate) fn take_back(&mut self, leaf: Leaf) {
        self.lent -= 1;
        if leaf.is_reusable() {
            self.spare.push(leaf);
        } else {
            leaf.retire();
        }
    }

    /// Lets go of the leaves without a tenant, before the group is removed.
    pub(crate) fn close_spare(&mut self) {
        self.spare.clear();
    }

    /// Returns whether another job can have the group: nothing of this one is left in it.
    pub(crate) fn is_like_new(&self) -> bool {
        self.lent == 0
            && self.state.is_like_new(self.spare.len()).unwrap_or(false)
            && self.spare.iter().all(Leaf::is_like_new)
    }

    /// Counts the processes killed for want of memory since the group was made.
    pub(crate) fn oom_kills(&self) -> Option<u64> {
        let events = self.memory_events.as_ref()?;
        read_number(events, "oom_kill").ok().flatten()
    }
}
