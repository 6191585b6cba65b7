use crate::owner::Owner;
use crate::route_by_tags::RouteByTagsProvider;
use crate::route_by_tags::choice::Tags;
use crate::route_by_tags::routes::{Route, Routes, WaitLimits};
use executor_core::{ExecutorProvider, ProviderLayer};
use std::sync::Arc;
use std::time::Duration;

/// Routes each job to the provider with its tags.
///
/// The wrapped provider is the default. A route matches a job when it has **all** tags of the job, as in
/// GitLab; the first match is chosen. A job without tags takes the default, and so does a job whose tags
/// only [the default has](Self::with_default_tags). With any other tags the job fails, and the error
/// names the tags.
///
/// # Time of the choice
///
/// A worker acquires capacity before it requests a job, and learns the job's tags only afterwards. So
/// `acquire` reserves nothing: `prepare` chooses the route and acquires its capacity. To choose by the
/// tags of the runner instead, use one runner for each provider.
///
/// The tags are those of the pipeline file. **A job from a GitLab server has none**, because GitLab has
/// already chosen the runner by them: it takes the default. Register one runner for each set of tags
/// there.
///
/// # What it changes
///
/// - `acquire` reserves nothing. To limit all jobs together, add an outer
///   [`ConcurrencyLimitLayer`](crate::ConcurrencyLimitLayer).
/// - `prepare` waits for capacity on the route, up to [`with_longest_wait`](Self::with_longest_wait), and
///   logs the wait; the time counts as preparation. A later attempt of the job uses the capacity of the
///   first.
/// - `release` goes to the job's route, if it has one. Without the data of `acquire`, `create` fails.
/// - `shell` before `prepare`, `config_info` and `default_shell` are those of the default.
/// - `features` are those that **all** routes have, because they are reported before the job is known.
///   Terminals, steps connections and port proxies beyond them are hidden.
/// - `can_create` and `init` succeed when every route does; `shutdown` ends all.
///
/// # Cancellation
///
/// A stop ends the wait for a route.
///
/// # Examples
///
/// Right: a limit inside each route. Wrong: one limit around all of them, where jobs that wait for a
/// busy route block the others.
///
/// ```
/// use executor_core::job::JobDefinition;
/// use executor_core::prelude::*;
/// use executor_layers::{ConcurrencyLimitLayer, RouteByTagsLayer};
/// use executor_testkit::{JobBuilder, OptionsBuilder, ScriptedProvider, runner_config};
///
/// /// Starts a job on the GPU and returns whether another job finds capacity meanwhile.
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
    wait: WaitLimits,
}

impl RouteByTagsLayer {
    /// Returns a layer without routes: jobs without tags take the default.
    pub fn new() -> Self {
        Self {
            routes: Vec::new(),
            default_tags: Tags::new(),
            wait: WaitLimits {
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

    /// Sets the tags of the default provider, for jobs that match no route; default none.
    pub fn with_default_tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.default_tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the pause before a job retries a busy route; default 3 seconds.
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.wait.pause = pause;
        self
    }

    /// Sets the longest wait for capacity on a route; default 1 hour.
    pub fn with_longest_wait(mut self, longest: Duration) -> Self {
        self.wait.longest = longest;
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
                wait: self.wait,
                owner: Owner::default(),
            }),
        })
    }
}
