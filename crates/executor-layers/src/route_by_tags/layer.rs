use crate::owner::Owner;
use crate::route_by_tags::RouteByTagsProvider;
use crate::route_by_tags::choice::Tags;
use crate::route_by_tags::routes::{Patience, Route, Routes};
use executor_core::{ExecutorProvider, ProviderLayer};
use std::sync::Arc;
use std::time::Duration;

/// Gives each job to the provider that has its tags.
///
/// The provider the layer is put around is the default. A route fits a job when it has **all** of the
/// job's tags, as a runner does for GitLab; the first one that fits is taken. A job without tags takes
/// the default, and so does one whose tags the default [was given](Self::with_default_tags) and no
/// route has. For other tags there is no place, and the job fails with an error that names them.
///
/// # Which tags, and when
///
/// A worker acquires capacity before it asks for a job, and knows the job's tags only then. So
/// `acquire` reserves nothing here: the route is chosen, and its capacity acquired, in `prepare`.
/// The alternative, choosing by the tags of the runner in `acquire`, would do nothing that one
/// runner for each provider does not do better.
///
/// The tags are those of the pipeline file. **A job that comes from a GitLab brings none**, because
/// GitLab has chosen the runner by them already: it takes the default. Register one runner for each
/// set of tags there.
///
/// # What it changes
///
/// - `acquire` reserves nothing. To limit all jobs together, put a
///   [`ConcurrencyLimitLayer`](crate::ConcurrencyLimitLayer) around.
/// - `prepare` waits for capacity on the route, which the job's log tells, up to
///   [`with_longest_wait`](Self::with_longest_wait); the time counts as preparation. A further try of
///   the job uses what the first one acquired.
/// - `release` goes to the route that the job took, if it took one. Without the data of `acquire`
///   there is nothing to create from, and `create` says so.
/// - `shell` before `prepare`, `config_info` and `default_shell` are those of the default.
/// - `features` are those that **all** routes have, because they are promised before the job is known.
///   A terminal, a steps connection or a port proxy that is not promised is not handed out.
/// - `can_create` and `init` succeed when they do for every route; `shutdown` ends all.
///
/// # Cancellation
///
/// A stop ends the waiting for a route.
///
/// # Examples
///
/// Right: a limit inside of each route. Wrong: one for all of them around, where jobs that wait for a
/// busy route keep the others out.
///
/// ```
/// use executor_core::job::JobDefinition;
/// use executor_core::prelude::*;
/// use executor_layers::{ConcurrencyLimitLayer, RouteByTagsLayer};
/// use executor_testkit::{JobBuilder, OptionsBuilder, ScriptedProvider, runner_config};
///
/// /// Starts a job on the graphics card, and says whether another job finds capacity meanwhile.
/// async fn there_is_room(provider: Arc<dyn ExecutorProvider>) -> Result<bool, Box<dyn std::error::Error>> {
///     let (config, go_on) = (runner_config("either"), Cancellation::new());
///     let data = provider.acquire(&config, &go_on).await?;
///     let train = JobBuilder::new(1).with(|job| {
///         let tags = Some(vec!["gpu".to_owned()]);
///         job.definition = Some(Box::new(JobDefinition { tags, ..JobDefinition::default() }));
///     });
///     let mut executor = provider.create(&data)?;
///     executor.prepare(OptionsBuilder::new().job(train.build()).build(), &go_on).await?;
///     let second = provider.acquire(&config, &go_on).await;
///     executor.cleanup().await?;
///     provider.release(&config, data).await;
///     Ok(second.is_ok())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let one = || ConcurrencyLimitLayer::concurrent(1);
/// let host = ScriptedProvider::new;
///
/// let card = ProviderStack::new(host()).layer(&one()).build();
/// let routes = RouteByTagsLayer::new().with_route(["gpu", "linux"], card);
/// let right = ProviderStack::new(host()).layer(&routes).build();
/// assert!(there_is_room(right).await?);
///
/// let routes = RouteByTagsLayer::new().with_route(["gpu", "linux"], host().shared());
/// let wrong = ProviderStack::new(host()).layer(&routes).layer(&one()).build();
/// assert!(!there_is_room(wrong).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RouteByTagsLayer {
    routes: Vec<Route>,
    default_tags: Tags,
    patience: Patience,
}

impl RouteByTagsLayer {
    /// Returns a layer without a route: all jobs without tags take the default.
    pub fn new() -> Self {
        Self {
            routes: Vec::new(),
            default_tags: Tags::new(),
            patience: Patience {
                pause: Duration::from_secs(3),
                longest: Duration::from_hours(1),
            },
        }
    }

    /// Adds a route for jobs whose tags are all among these; earlier routes are preferred.
    pub fn with_route<T: Into<String>>(
        mut self,
        tags: impl IntoIterator<Item = T>,
        provider: Arc<dyn ExecutorProvider>,
    ) -> Self {
        let tags = tags.into_iter().map(Into::into).collect();
        self.routes.push(Route { tags, provider });
        self
    }

    /// Sets the tags of the default, for jobs that no route fits; default none.
    pub fn with_default_tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.default_tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how long a job rests before it asks a busy route again; default 3 seconds.
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.patience.pause = pause;
        self
    }

    /// Sets how long a job waits for capacity on its route; default 1 hour.
    pub fn with_longest_wait(mut self, longest: Duration) -> Self {
        self.patience.longest = longest;
        self
    }
}

impl Default for RouteByTagsLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl ProviderLayer for RouteByTagsLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        let default = Route {
            tags: self.default_tags.clone(),
            provider: inner,
        };
        let routes = std::iter::once(default).chain(self.routes.iter().cloned());
        Arc::new(RouteByTagsProvider {
            routes: Arc::new(Routes {
                list: routes.collect(),
                patience: self.patience,
                owner: Owner::default(),
            }),
        })
    }
}
