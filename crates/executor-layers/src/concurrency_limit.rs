//! At most so many jobs at once.

use crate::forward::forward_provider;
use crate::owner::Owner;
use crate::room::{Room, Seat};
use async_trait::async_trait;
use executor_core::{
    AcquireError, CancelCause, Cancellation, ExecutorData, ExecutorProvider, ProviderError,
    ProviderLayer, RunnerConfig,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a [`ConcurrencyLimitLayer`] does when all is in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// It says [`AcquireError::NoFreeExecutor`] at once: the worker rests and comes again, and a
    /// [`FallbackLayer`](crate::FallbackLayer) goes on to its next provider.
    #[default]
    Refuse,
    /// It waits until a job ends or a stop is asked for. The next job starts at once then, instead
    /// of after the worker's rest.
    Wait,
}

/// Lets at most so many jobs hold capacity at once.
///
/// GitLab Runner has two such limits, and so has this layer: [`concurrent`](Self::concurrent) counts
/// the jobs of all runners together, [`of_each_runner`](Self::of_each_runner) those of each runner
/// alone. The count belongs to the layer: put around several providers, it limits them together.
///
/// # What it changes
///
/// `acquire` takes a seat before it asks the inner provider, and refuses or waits when there is none
/// ([`WhenFull`]; default: it refuses). The seat travels in the [`ExecutorData`] and is free again
/// with `release`, after the inner provider's, or when the data is dropped. All else is forwarded.
///
/// # Cancellation
///
/// A stop ends the waiting with [`AcquireError::Canceled`], and nothing is taken.
///
/// # Examples
///
/// Right: around each provider of a [`FallbackLayer`](crate::FallbackLayer), so that a full one sends
/// the job to the next. Wrong: around them all, where a job is refused although the next one is idle.
///
/// ```
/// use executor_core::prelude::*;
/// use executor_layers::{ConcurrencyLimitLayer, FallbackLayer};
/// use executor_testkit::{ScriptedProvider, runner_config};
///
/// /// Says whether a second job finds capacity while the first one has some.
/// async fn takes_two(provider: Arc<dyn ExecutorProvider>) -> Result<bool, AcquireError> {
///     let (config, go_on) = (runner_config("two hosts"), Cancellation::new());
///     let _first = provider.acquire(&config, &go_on).await?;
///     let second = provider.acquire(&config, &go_on).await;
///     Ok(second.is_ok())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), AcquireError> {
/// let host = ScriptedProvider::new;
/// let one = || ConcurrencyLimitLayer::concurrent(1);
///
/// let next = FallbackLayer::to(ProviderStack::new(host()).layer(&one()).build());
/// let right = ProviderStack::new(host()).layer(&one()).layer(&next).build();
/// assert!(takes_two(right).await?);
///
/// let next = FallbackLayer::to(host().shared());
/// let wrong = ProviderStack::new(host()).layer(&next).layer(&one()).build();
/// assert!(!takes_two(wrong).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ConcurrencyLimitLayer {
    scope: Scope,
    when_full: WhenFull,
}

#[derive(Debug, Clone)]
enum Scope {
    All { limit: u32, room: Arc<Room> },
    EachRunner(Arc<Mutex<HashMap<RunnerKey, Arc<Room>>>>),
}

/// What a runner is told apart by: its name, and the part of its token that may be shown.
type RunnerKey = (String, String);

impl ConcurrencyLimitLayer {
    /// Lets at most `limit` jobs of all runners through at once (GitLab's `concurrent`); 0 means any
    /// number.
    pub fn concurrent(limit: u32) -> Self {
        Self::new(Scope::All {
            limit,
            room: Arc::default(),
        })
    }

    /// Lets at most [`RunnerConfig::limit`] jobs of each runner through at once.
    ///
    /// The settings that come with each `acquire` count, so a changed limit holds from then on.
    pub fn of_each_runner() -> Self {
        Self::new(Scope::EachRunner(Arc::default()))
    }

    fn new(scope: Scope) -> Self {
        Self {
            scope,
            when_full: WhenFull::default(),
        }
    }

    /// Sets what happens when all is in use; default [`WhenFull::Refuse`].
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }
}

impl ProviderLayer for ConcurrencyLimitLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        Arc::new(ConcurrencyLimitProvider {
            inner,
            scope: self.scope.clone(),
            when_full: self.when_full,
            owner: Owner::default(),
        })
    }
}

impl Scope {
    fn room_and_limit(&self, config: &RunnerConfig) -> (Arc<Room>, u32) {
        match self {
            Self::All { limit, room } => (Arc::clone(room), *limit),
            Self::EachRunner(rooms) => {
                let key = (config.name.clone(), config.short_token().to_owned());
                let mut rooms = rooms.lock().unwrap_or_else(PoisonError::into_inner);
                (Arc::clone(rooms.entry(key).or_default()), config.limit)
            }
        }
    }
}

/// A provider that a [`ConcurrencyLimitLayer`] was put around.
#[derive(Debug)]
pub struct ConcurrencyLimitProvider {
    inner: Arc<dyn ExecutorProvider>,
    scope: Scope,
    when_full: WhenFull,
    owner: Owner,
}

impl ConcurrencyLimitProvider {
    async fn seat(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<Seat, AcquireError> {
        let (room, limit) = self.scope.room_and_limit(config);
        match self.when_full {
            WhenFull::Refuse => room.try_take(limit).ok_or(AcquireError::NoFreeExecutor),
            WhenFull::Wait => room.take(limit, cancellation).await.ok_or_else(|| {
                AcquireError::Canceled(cancellation.cause().unwrap_or(CancelCause::User))
            }),
        }
    }
}

/// Leaves with `release`, even while somebody still holds a clone of the data.
type Permit = Mutex<Option<Seat>>;

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for ConcurrencyLimitProvider {
    forward_provider!(inner: can_create, create);

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let seat = self.seat(config, cancellation).await?;
        let data = self.inner.acquire(config, cancellation).await?;
        Ok(self.owner.put(data, Permit::new(Some(seat))))
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        let permit = self.owner.find::<Permit>(&data);
        // Free at the end of this call, also when the inner one panics.
        let _seat =
            permit.and_then(|permit| permit.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.inner.release(config, data.clone()).await;
    }

    forward_provider!(inner: features, config_info, default_shell, init);

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.inner.shutdown(deadline).await
    }
}
