use super::process_mode::{Contender, ProcessMode};
use async_trait::async_trait;
use executor_core::{Cancellation, JobId, PipelineId};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fmt::Debug;
use std::sync::Arc;
use tokio::sync::Notify;

/// Lets one job of each resource group run at a time.
#[async_trait]
pub trait ResourceGroups: Debug + Send + Sync {
    /// Says whether a pipeline has jobs that are still to get a group, also such as have asked for it.
    /// Some groups make other pipelines wait for them.
    fn expect(&self, group: &str, pipeline: PipelineId, expected: bool);

    /// Waits until it is the job's turn; the group is taken until the lease is dropped.
    ///
    /// # Errors
    ///
    /// When it cannot be known whether others are in the group.
    ///
    /// # Cancellation
    ///
    /// Stops waiting and returns `None`. The future may also be dropped at any time.
    async fn acquire(
        &self,
        request: &ResourceRequest,
        cancellation: &Cancellation,
    ) -> Result<Option<ResourceLease>, ResourceError>;
}

/// A job that asks for its resource group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRequest {
    /// The group, its name expanded.
    pub group: String,
    /// The job's pipeline.
    pub pipeline: PipelineId,
    /// The job.
    pub job: JobId,
}

/// A resource group is taken until this is dropped.
pub struct ResourceLease {
    _held: Box<dyn Send + Sync>,
}

impl ResourceLease {
    /// Returns the lease of what dropping `held` gives back.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

impl Debug for ResourceLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceLease").finish_non_exhaustive()
    }
}

/// A resource group could not be asked for. Its name, which may hold the value of a variable, is not
/// told.
#[derive(Debug, thiserror::Error)]
#[error("cannot wait for the job's resource group")]
pub struct ResourceError {
    /// What failed.
    #[source]
    pub source: std::io::Error,
}

/// The resource groups of one process.
#[derive(Debug, Clone, Default)]
pub struct LocalResources {
    modes: HashMap<String, ProcessMode>,
    groups: Arc<Groups>,
}

#[derive(Debug, Default)]
struct Groups {
    state: Mutex<State>,
    /// Tells all that wait of any change.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    by_name: HashMap<String, Group>,
    /// The number that the next one to ask gets.
    next: u64,
}

#[derive(Debug, Default)]
struct Group {
    is_taken: bool,
    /// The pipelines with jobs that are still to ask.
    expected: BTreeSet<u64>,
    /// Those that wait: the pipeline and when it asked.
    waiting: Vec<(u64, u64)>,
}

impl Group {
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
    /// Returns groups of which some have another mode than the usual one.
    pub fn new(modes: HashMap<String, ProcessMode>) -> Self {
        Self {
            modes,
            groups: Arc::default(),
        }
    }
}

impl Groups {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// The place of one that waits; it leaves the group when this is dropped, also with the group taken.
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
        let mut state = groups.lock();
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

    /// Takes the group if it is this one's turn.
    fn take(&mut self, mode: ProcessMode) -> bool {
        let mut state = self.groups.lock();
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
        let mut state = self.groups.lock();
        if let Some(group) = state.by_name.get_mut(&self.group) {
            if self.is_holder {
                group.is_taken = false;
            }
            let place = (self.pipeline, self.asked);
            group.waiting.retain(|&waiting| waiting != place);
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
        let mut state = self.groups.lock();
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
            // Whatever changes from here on is heard of.
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
