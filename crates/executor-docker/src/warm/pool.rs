//! The warm containers of a provider.

use super::blueprint::Blueprint;
use super::inventory::{Availability, Inventory};
use super::kind::ContainerKind;
use super::removal::BackgroundRemoval;
use super::spare::Spare;
use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::garbage::JobLeases;
use crate::job::container::ended;
use crate::job::created_resources::CreatedResources;
use crate::job::prepare::creation::Creation;
use crate::job::prepare::started_container::StartedContainer;
use executor_core::{CancelCause, Cancellation, JobTraceExt};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long a job waits for a container in creation.
const COMING: Duration = Duration::from_mins(1);

/// How many removals may run in the background. With a slower engine, jobs wait for their removal.
const REMOVALS: usize = 8;

/// Keeps containers ready, and removes those of ended jobs. Clones share the pool.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    state: Arc<State>,
    /// One task for each warm container, and for each background removal.
    keepers: Arc<Mutex<JoinSet<()>>>,
}

#[derive(Debug)]
struct State {
    inventory: Mutex<Inventory<ContainerKind, Spare>>,
    /// Changes with the inventory.
    version: watch::Sender<u64>,
    /// The number of jobs in preparation, which have priority.
    preparing: watch::Sender<usize>,
    /// Limits the creation to one container at a time.
    turn: Semaphore,
    /// The free background removals.
    removals: Arc<Semaphore>,
    stop: Cancellation,
}

impl Default for State {
    fn default() -> Self {
        Self {
            inventory: Mutex::default(),
            version: watch::Sender::new(0),
            preparing: watch::Sender::new(0),
            turn: Semaphore::new(1),
            removals: Arc::new(Semaphore::new(REMOVALS)),
            stop: Cancellation::new(),
        }
    }
}

/// A job in preparation, until this is dropped.
#[derive(Debug)]
pub(crate) struct Preparing(Arc<State>);

impl Drop for Preparing {
    fn drop(&mut self) {
        self.0.preparing.send_modify(|count| *count -= 1);
    }
}

/// A job that waits for a container, until this is dropped.
struct Waiting<'w> {
    state: &'w State,
    key: &'w ContainerKind,
    is_noted: bool,
}

impl Waiting<'_> {
    /// Tries again.
    fn take(&mut self) -> Availability<Spare> {
        let mut slots = self.state.inventory();
        slots.leave(self.key);
        let taken = slots.take_or_wait(self.key);
        self.is_noted = matches!(taken, Availability::Coming);
        taken
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.is_noted {
            self.state.inventory().leave(self.key);
        }
    }
}

impl Pool {
    /// Marks a job as in preparation: meanwhile the pool starts no container.
    pub(crate) fn preparing(&self) -> Preparing {
        self.state.preparing.send_modify(|count| *count += 1);
        Preparing(Arc::clone(&self.state))
    }

    /// Returns a container of the job's kind that is ready, or soon will be; `None` when there is none.
    ///
    /// # Errors
    ///
    /// When the job is stopped. An unusable container is not an error.
    pub(crate) async fn take(
        &self,
        creation: &Creation<'_>,
        key: Option<&ContainerKind>,
        made: &mut CreatedResources,
        cancellation: &Cancellation,
    ) -> Result<Option<StartedContainer>, DockerError> {
        let Some(key) = key else {
            return Ok(None);
        };
        while let Some(spare) = self.next(key, cancellation).await? {
            if let Some(started) = creation.claim(spare, made, cancellation).await? {
                let trace = &creation.preparation.options.trace;
                trace.system_line("Using a warm container.");
                return Ok(Some(started));
            }
        }
        Ok(None)
    }

    async fn next(
        &self,
        key: &ContainerKind,
        cancellation: &Cancellation,
    ) -> Result<Option<Spare>, DockerError> {
        let state = &self.state;
        let mut version = state.version.subscribe();
        match state.change(|inventory| inventory.take_or_wait(key)) {
            Availability::Ready(spare) => return Ok(Some(spare)),
            Availability::Nothing => return Ok(None),
            Availability::Coming => {}
        }
        let mut waiting = Waiting {
            state,
            key,
            is_noted: true,
        };
        let coming = async {
            loop {
                // The state owns the sender.
                let _ = version.changed().await;
                match waiting.take() {
                    Availability::Coming => {}
                    Availability::Ready(spare) => return Some(spare),
                    Availability::Nothing => return None,
                }
            }
        };
        let coming = async { Ok(timeout(COMING, coming).await.ok().flatten()) };
        unless_stopped(cancellation, coming).await
    }

    /// Starts a container for the next job of this kind.
    pub(crate) fn want(&self, blueprint: Blueprint) {
        let (key, limits) = (blueprint.key.clone(), blueprint.limits);
        let planned = self.state.change(|inventory| inventory.plan(&key, limits));
        let Some((id, home)) = planned else {
            return;
        };
        let mut keepers = self.keepers();
        while keepers.try_join_next().is_some() {}
        let state = Arc::clone(&self.state);
        keepers.spawn(Box::pin(async move {
            state.keep(id, blueprint, home).await;
        }));
    }

    /// Starts to remove the resources of an ended job; holds its leases until then. Returns the resources when the job must
    /// remove them itself, because the pool is closed or busy.
    pub(crate) fn remove(
        &self,
        made: CreatedResources,
        leases: Option<JobLeases>,
    ) -> Result<BackgroundRemoval, Box<CreatedResources>> {
        let mut keepers = self.keepers();
        let turn = Arc::clone(&self.state.removals).try_acquire_owned();
        let Some(turn) = turn.ok().filter(|_| !self.state.stop.is_canceled()) else {
            return Err(Box::new(made));
        };
        while keepers.try_join_next().is_some() {}
        let (removal, removing) = BackgroundRemoval::of(made);
        keepers.spawn(Box::pin(async move {
            removing.await;
            drop((leases, turn));
        }));
        Ok(removal)
    }

    /// Returns the number of ready containers.
    pub(crate) fn ready(&self) -> usize {
        self.state.inventory().ready()
    }

    /// Waits until no container is in creation or planned, and no background removal runs.
    pub(crate) async fn settled(&self) {
        let all = u32::try_from(REMOVALS).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let _ = self.state.removals.acquire_many(all).await;
        let mut version = self.state.version.subscribe();
        let is_settled = |_: &u64| !self.state.inventory().is_busy();
        // The state owns the sender.
        let _ = version.wait_for(is_settled).await;
    }

    /// Removes all warm containers and creates no more. Returns whether that finished in time.
    pub(crate) async fn close(&self, deadline: Duration) -> bool {
        self.state.stop.abort(CancelCause::Shutdown);
        self.state.change(Inventory::close);
        let mut keepers = std::mem::take(&mut *self.keepers());
        let ending = async { while keepers.join_next().await.is_some() {} };
        timeout(deadline, ending).await.is_ok()
    }

    fn keepers(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.keepers.lock()
    }
}

impl State {
    fn inventory(&self) -> MutexGuard<'_, Inventory<ContainerKind, Spare>> {
        self.inventory.lock()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Inventory<ContainerKind, Spare>) -> T) -> T {
        let changed = change(&mut self.inventory());
        self.version.send_modify(|version| *version += 1);
        changed
    }

    /// Creates one container, and removes it when no job takes it.
    async fn keep(&self, id: u64, blueprint: Blueprint, home: oneshot::Receiver<Spare>) {
        let idle = blueprint.limits.idle;
        let made = Box::pin(self.make(id, blueprint)).await;
        let spare = match made {
            Ok(Some(spare)) => self.put_and_watch(id, spare, home, idle).await,
            Ok(None) => None,
            Err(error) => {
                // Jobs create their own, and report the same error.
                tracing::debug!(error = %executor_core::chain(&error), "No warm container could be created.");
                None
            }
        };
        self.change(|inventory| inventory.vacate(id));
        if let Some(spare) = spare
            && let Err(error) = spare.remove().await
        {
            tracing::warn!(error = %executor_core::chain(&error), "A warm container is left behind.");
        }
    }

    /// Creates a container in its turn; `None` when it is not needed any more.
    async fn make(&self, id: u64, blueprint: Blueprint) -> Result<Option<Spare>, DockerError> {
        let turn = async {
            let turn = self.turn.acquire().await;
            let mut preparing = self.preparing.subscribe();
            let _ = preparing.wait_for(|count| *count == 0).await;
            Ok(turn)
        };
        let _turn = unless_stopped(&self.stop, turn).await?;
        if !self.change(|inventory| inventory.begin(id)) {
            return Ok(None);
        }
        blueprint.make(&self.stop).await.map(Some)
    }

    /// Offers the container to jobs; returns it when it is to be removed.
    async fn put_and_watch(
        &self,
        id: u64,
        spare: Spare,
        mut home: oneshot::Receiver<Spare>,
        idle: Duration,
    ) -> Option<Spare> {
        let mut end = spare.container.end();
        if let Some(unwanted) = self.change(|inventory| inventory.put(id, spare)) {
            return Some(unwanted);
        }
        tokio::select! {
            // An error means that a job took it.
            back = &mut home => return back.ok(),
            () = sleep(idle) => {}
            _ = ended(&mut end) => {}
        }
        let back = self.change(|inventory| inventory.vacate(id));
        back.or_else(|| home.try_recv().ok())
    }
}
