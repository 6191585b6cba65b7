//! The routes, and the capacity of the chosen route.

use crate::owner::Owner;
use crate::provider_set::common_features;
use crate::reservations::{Reservation, Reservations};
use crate::retry;
use crate::route_by_tags::choice::{Tags, choose, job_tags, shown};
use executor_core::{
    AcquireError, BuildError, CancelCause, Cancellation, Executor, ExecutorData, ExecutorProvider,
    FeaturesInfo, HumanDuration, JobTraceExt, PrepareOptions, ProviderError, Retryability,
    RunnerConfig,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A provider and its tags.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) tags: Tags,
    pub(super) provider: Arc<dyn ExecutorProvider>,
}

/// The wait for capacity on a route.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitLimits {
    /// The pause between two requests.
    pub(super) pause: Duration,
    /// The longest total wait.
    pub(super) longest: Duration,
}

/// The state that a [`RouteByTagsProvider`](crate::RouteByTagsProvider) and its executors share.
#[derive(Debug)]
pub(super) struct Routes {
    /// The first route is the default.
    pub(super) list: Vec<Route>,
    pub(super) wait: WaitLimits,
    pub(super) owner: Owner,
}

impl Routes {
    pub(super) fn default_provider(&self) -> &dyn ExecutorProvider {
        &*self.list[0].provider
    }

    pub(super) fn providers(&self) -> impl Iterator<Item = &Arc<dyn ExecutorProvider>> {
        self.list.iter().map(|route| &route.provider)
    }

    /// Returns the features that all routes have.
    pub(super) fn features(&self) -> Result<FeaturesInfo, ProviderError> {
        common_features(self.providers())
    }

    pub(super) fn held<'d>(&self, data: &'d ExecutorData) -> Option<&'d Reservations> {
        self.owner.find(data)
    }

    /// Chooses the route of a job, waits for its capacity, and creates the executor.
    ///
    /// A later attempt of the same job uses the capacity of the first.
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
            let held = Reservation {
                provider: number,
                data,
            };
            all.add(held.clone());
            held
        };
        // The provider looks up its values from the newest end.
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
        let WaitLimits { pause, longest } = self.wait;
        // A deadline beyond the clock's range means no deadline.
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
            retry::pause(pause, cancellation).await?;
        }
    }
}

/// Acquires from the route's provider, which may wait until the deadline; `None` means no deadline.
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
    BuildError::config("the job's data was not acquired from this router")
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
