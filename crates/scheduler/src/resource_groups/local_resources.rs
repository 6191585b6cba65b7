use super::groups::{ResourceError, ResourceGroups, ResourceLease, ResourceRequest};
use super::process_mode::{Contender, ProcessMode};
use async_trait::async_trait;
use executor_core::{Cancellation, PipelineId};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tokio::sync::Notify;

/// The resource groups of one process.
#[derive(Debug, Clone, Default)]
pub struct LocalResources {
    modes: HashMap<String, ProcessMode>,
    groups: Arc<Groups>,
}

#[derive(Debug, Default)]
struct Groups {
    state: Mutex<State>,
    /// Wakes all waiting jobs after any change.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    by_name: HashMap<String, Group>,
    /// The number of the next request.
    next: u64,
}

#[derive(Debug, Default)]
struct Group {
    is_taken: bool,
    /// The pipelines with jobs that will still request the group.
    expected: BTreeSet<u64>,
    /// The waiting jobs: the pipeline and the number of the request.
    waiting: Vec<(u64, u64)>,
}

impl Group {
    /// Returns the number of the request that is next.
    fn next(&self, mode: ProcessMode) -> Option<u64> {
        if self.is_taken {
            return None;
        }
        let waiting = self.waiting.iter().map(|&(pipeline, asked)| Contender {
            pipeline,
            asked: Some(asked),
        });
        let expected = self.expected.iter().map(|&pipeline| Contender {
            pipeline,
            asked: None,
        });
        let contenders: Vec<Contender> = waiting.chain(expected).collect();
        contenders[mode.next(&contenders)?].asked
    }
}

impl LocalResources {
    /// Returns resource groups of which some do not have the default mode.
    pub fn new(modes: HashMap<String, ProcessMode>) -> Self {
        Self {
            modes,
            groups: Arc::default(),
        }
    }
}

/// A request for a group. Dropped, it no longer waits, and releases the group if it has it.
#[derive(Debug)]
struct Ticket {
    groups: Arc<Groups>,
    group: String,
    pipeline: u64,
    asked: u64,
    is_holder: bool,
}

impl Ticket {
    fn new(groups: &Arc<Groups>, group: &str, pipeline: u64) -> Self {
        let mut state = groups.state.lock();
        let asked = state.next;
        state.next += 1;
        let found = state.by_name.entry(group.to_owned()).or_default();
        found.waiting.push((pipeline, asked));
        Self {
            groups: Arc::clone(groups),
            group: group.to_owned(),
            pipeline,
            asked,
            is_holder: false,
        }
    }

    /// Takes the group if this request is next.
    fn take(&mut self, mode: ProcessMode) -> bool {
        let mut state = self.groups.state.lock();
        let Some(group) = state.by_name.get_mut(&self.group) else {
            return false;
        };
        if group.next(mode) == Some(self.asked) {
            group.is_taken = true;
            group.waiting.retain(|&(_, asked)| asked != self.asked);
            self.is_holder = true;
        }
        self.is_holder
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.groups.state.lock();
        if let Some(group) = state.by_name.get_mut(&self.group) {
            if self.is_holder {
                group.is_taken = false;
            }
            let request = (self.pipeline, self.asked);
            group.waiting.retain(|&waiting| waiting != request);
            if group.waiting.is_empty() && group.expected.is_empty() && !group.is_taken {
                state.by_name.remove(&self.group);
            }
        }
        drop(state);
        self.groups.changed.notify_waiters();
    }
}

#[async_trait]
impl ResourceGroups for LocalResources {
    fn expect(&self, group: &str, pipeline: PipelineId, expected: bool) {
        let mut state = self.groups.state.lock();
        let found = state.by_name.entry(group.to_owned()).or_default();
        if expected {
            found.expected.insert(pipeline.0);
        } else {
            found.expected.remove(&pipeline.0);
        }
        drop(state);
        self.groups.changed.notify_waiters();
    }

    async fn acquire(
        &self,
        request: &ResourceRequest,
        cancellation: &Cancellation,
    ) -> Result<Option<ResourceLease>, ResourceError> {
        let mode = self.modes.get(&request.group).copied().unwrap_or_default();
        let mut ticket = Ticket::new(&self.groups, &request.group, request.pipeline.0);
        loop {
            let changed = self.groups.changed.notified();
            tokio::pin!(changed);
            // Every change from here on wakes this job.
            changed.as_mut().enable();
            if cancellation.is_canceled() {
                return Ok(None);
            }
            if ticket.take(mode) {
                return Ok(Some(ResourceLease::new(ticket)));
            }
            tokio::select! {
                () = changed => {}
                _ = cancellation.canceled() => return Ok(None),
            }
        }
    }
}
