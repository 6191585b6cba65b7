//! The routes, and capacity on the one that was chosen.

use crate::held::{AllHeld, Held};
use crate::owner::Owner;
use crate::rest::rest;
use crate::route_by_tags::choice::{Tags, choose, job_tags, shown};
use crate::several::common_features;
use executor_core::{
    AcquireError, BuildError, CancelCause, Cancellation, Executor, ExecutorData, ExecutorProvider,
    FeaturesInfo, HumanDuration, JobTraceExt, PrepareOptions, ProviderError, Retryability,
    RunnerConfig,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// One provider and the tags it is for.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) tags: Tags,
    pub(super) provider: Arc<dyn ExecutorProvider>,
}

/// How long a job waits for capacity on its route.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// How long there is between two questions.
    pub(super) pause: Duration,
    /// How long there is in all.
    pub(super) longest: Duration,
}

/// What a [`RouteByTagsProvider`](crate::RouteByTagsProvider) and its executors share.
#[derive(Debug)]
pub(super) struct Routes {
    /// The first one is the default.
    pub(super) list: Vec<Route>,
    pub(super) patience: Patience,
    pub(super) owner: Owner,
}

impl Routes {
    pub(super) fn default_provider(&self) -> &dyn ExecutorProvider {
        &*self.list[0].provider
    }

    pub(super) fn providers(&self) -> impl Iterator<Item = &Arc<dyn ExecutorProvider>> {
        self.list.iter().map(|route| &route.provider)
    }

    /// Returns what holds whichever route a job takes.
    pub(super) fn features(&self) -> Result<FeaturesInfo, ProviderError> {
        common_features(self.providers())
    }

    pub(super) fn held<'d>(&self, data: &'d ExecutorData) -> Option<&'d AllHeld> {
        self.owner.find(data)
    }

    /// Chooses the route of a job, waits for capacity there, and creates the executor.
    ///
    /// A further try of the same job uses what the first one acquired.
    pub(super) async fn executor(
        &self,
        data: &ExecutorData,
        options: &PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn Executor>, BuildError> {
        let Some(all) = self.held(data) else {
            return Err(not_acquired());
        };
        let held = if let Some(held) = all.current() {
            held
        } else {
            let number = self.choose(options)?;
            let data = self.acquire(number, options, cancellation).await?;
            let held = Held {
                provider: number,
                data,
            };
            all.add(held.clone());
            held
        };
        // The provider looks for its own from the newest end.
        let mut data = data.clone();
        data.append(held.data);
        self.list[held.provider].provider.create(&data)
    }

    fn choose(&self, options: &PrepareOptions) -> Result<usize, BuildError> {
        let tags = job_tags(options);
        let routes = self.list.iter().map(|route| &route.tags);
        let Some(number) = choose(&tags, routes) else {
            let routes = self.list.iter().map(|route| shown(&route.tags));
            return Err(BuildError::config(format!(
                "no route has all of the tags {}; the routes are {}",
                shown(&tags),
                routes.collect::<Vec<_>>().join(" ")
            )));
        };
        if !tags.is_empty() {
            let route = shown(&self.list[number].tags);
            let line = format!("Tags {} take the route {route}", shown(&tags));
            options.trace.system_line(&line);
        }
        Ok(number)
    }

    /// Waits until the route has capacity.
    async fn acquire(
        &self,
        number: usize,
        options: &PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, BuildError> {
        let route = &self.list[number];
        let Patience { pause, longest } = self.patience;
        // A time that no clock will reach is none.
        let deadline = Instant::now().checked_add(longest);
        let mut is_first = true;
        loop {
            match acquire_until(deadline, route, &options.config, cancellation).await {
                Ok(data) => return Ok(data),
                Err(AcquireError::Provider(source)) => return Err(broken(source)),
                Err(AcquireError::Canceled(cause)) if cancellation.is_canceled() => {
                    return Err(BuildError::Canceled(cause));
                }
                Err(_) => {}
            }
            let is_last = |end: Instant| end.duration_since(Instant::now()) <= pause;
            if deadline.is_some_and(is_last) {
                return Err(too_busy(route, longest));
            }
            if is_first {
                let line = format!("Waiting for a free executor of {}...", shown(&route.tags));
                options.trace.system_line(&line);
                is_first = false;
            }
            rest(pause, cancellation).await?;
        }
    }
}

/// Acquires from the route's provider, which may wait by itself, but no longer than until then; without a
/// deadline for ever.
async fn acquire_until(
    deadline: Option<Instant>,
    route: &Route,
    config: &RunnerConfig,
    cancellation: &Cancellation,
) -> Result<ExecutorData, AcquireError> {
    let stop = cancellation.child();
    let mut acquire = route.provider.acquire(config, &stop);
    let Some(deadline) = deadline else {
        return acquire.await;
    };
    tokio::select! {
        biased;
        acquired = &mut acquire => return acquired,
        () = tokio::time::sleep_until(deadline) => stop.cancel(CancelCause::Timeout),
    }
    acquire.await
}

pub(super) fn not_acquired() -> BuildError {
    BuildError::config("the job's data is not that of the router")
}

fn broken(source: executor_core::BoxError) -> BuildError {
    BuildError::System {
        backend: "route",
        message: "acquire an executor".to_owned(),
        source: Some(source),
        retry: Retryability::Temporary,
    }
}

fn too_busy(route: &Route, longest: Duration) -> BuildError {
    let (route, longest) = (shown(&route.tags), HumanDuration(longest));
    BuildError::System {
        backend: "route",
        message: format!("no executor of {route} was free within {longest}"),
        source: None,
        retry: Retryability::GivenUp,
    }
}
