//! The cgroup of a job, which is passed on to later jobs.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::cgroup::Group;
use crate::cgroup_state::{CgroupState, read_number};
use crate::leaf::Leaf;

/// The cgroup of a job, with a leaf for each of its processes.
///
/// Creating and removing these cgroups is about a tenth of the cost of a small job, so a job that leaves its
/// own [empty](Self::is_empty) passes it on to a later job of the run, which uses it if it is
/// [like new](Self::is_like_new). Only the kernel's counters of CPU time continue.
#[derive(Debug)]
pub(crate) struct JobCgroup {
    group: Group,
    state: CgroupState,
    /// Counts processes killed for lack of memory; `None` without the controller.
    memory_events: Option<File>,
    /// Unused leaves.
    spare: Vec<Leaf>,
    /// The number of leaves in use.
    lent: usize,
    /// The number of leaves created so far, which becomes their name.
    count: u64,
}

impl JobCgroup {
    /// Creates the cgroup.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        let group = Group::create(path)?;
        let opened = CgroupState::open(group.path());
        let state = opened.inspect_err(|_| drop(group.remove_blocking(Duration::ZERO)))?;
        let memory_events = File::open(group.path().join("memory.events")).ok();
        Ok(Self {
            group,
            state,
            memory_events,
            spare: Vec::new(),
            lent: 0,
            count: 0,
        })
    }

    /// Returns the cgroup around the leaves.
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Returns an unused leaf, or a new one.
    pub(crate) fn lend(&mut self) -> io::Result<Leaf> {
        let leaf = if let Some(leaf) = self.spare.pop() {
            leaf
        } else {
            self.count += 1;
            Leaf::create(self.group.path().join(self.count.to_string()))?
        };
        self.lent += 1;
        Ok(leaf)
    }

    /// Takes back a leaf.
    ///
    /// A leaf with survivors can serve the next process: they are killed at its end, or at the end of the job.
    pub(crate) fn take_back(&mut self, leaf: Leaf) {
        self.lent -= 1;
        if leaf.is_reusable() {
            self.spare.push(leaf);
        } else {
            leaf.retire();
        }
    }

    /// Drops the unused leaves, before the cgroup is removed.
    pub(crate) fn close_spare(&mut self) {
        self.spare.clear();
    }

    /// Returns whether this job left no process and no cgroup in it.
    pub(crate) fn is_empty(&self) -> bool {
        let is_empty = |state: &CgroupState, below| state.is_empty(below).unwrap_or(false);
        self.lent == 0
            && is_empty(&self.state, self.spare.len())
            && self.spare.iter().all(Leaf::is_empty)
    }

    /// Returns whether another job can use the cgroup: this job left nothing in it and changed none of its settings.
    pub(crate) fn is_like_new(&self) -> bool {
        self.lent == 0
            && self.state.is_like_new(self.spare.len()).unwrap_or(false)
            && self.spare.iter().all(Leaf::is_like_new)
    }

    /// Returns the number of processes killed for lack of memory since the cgroup was created.
    pub(crate) fn oom_kills(&self) -> Option<u64> {
        let events = self.memory_events.as_ref()?;
        read_number(events, "oom_kill").ok().flatten()
    }
}
