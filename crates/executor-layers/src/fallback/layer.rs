use crate::fallback::FallbackProvider;
use crate::fallback::members::Members;
use executor_core::{ExecutorProvider, ProviderLayer};
use std::sync::Arc;

/// Asks the next provider when one has no capacity or is broken.
///
/// The provider the layer is put around is preferred; the others follow in the order they were
/// added. Each job asks in that order again, so jobs come back to the preferred one by themselves.
///
/// # What it changes
///
/// - `acquire` goes on to the next provider after every refusal, [`AcquireError::NoFreeExecutor`] and
///   [`AcquireError::Provider`] alike, and when `can_create` or `init` of a provider fails. When all
///   refuse, it says that there is no capacity if one of them is only busy, and else what is wrong
///   with the first.
/// - `prepare`, [if wanted](Self::also_after_failed_prepare), goes on when it fails through no fault
///   of the job.
/// - `features` are those that **all** providers have: they are promised before it is known who runs
///   the job. A terminal, a steps connection or a port proxy that is not promised is not handed out.
/// - `config_info` and `default_shell` are those of the preferred provider. The environment that
///   `prepare` returns tells the shell of the one that runs the job.
/// - `can_create` and `init` succeed when they do for one of them; `shutdown` ends all.
/// - `release` goes to whoever reserved, which the [`ExecutorData`] remembers. Without that data
///   there is nothing to create from, and `create` says so.
///
/// A [resumed](executor_core::ability::ResumeHandle) job is not led back to the provider that kept
/// its environment: the handle is refused by another one.
///
/// # Examples
///
/// Right: a [`RetryLayer`](crate::RetryLayer) around each provider, which gets its tries before the
/// next one is asked. Wrong: one around them all. The first small trouble costs the preferred
/// provider the job.
///
/// ```
/// use executor_core::prelude::*;
/// use executor_layers::{FallbackLayer, RetryLayer};
/// use executor_testkit::{Directive, Failure, Moment, OptionsBuilder, ScriptedProvider, runner_config};
///
/// /// Connects at the second try.
/// fn preferred() -> ScriptedProvider {
///     let preferred = ScriptedProvider::new();
///     preferred.on(Moment::Prepare, Directive::fail(Failure::temporary("connect")).times(1));
///     preferred
/// }
///
/// async fn run_job(provider: Arc<dyn ExecutorProvider>) -> Result<(), Box<dyn std::error::Error>> {
///     let (config, go_on) = (runner_config("either"), Cancellation::new());
///     let data = provider.acquire(&config, &go_on).await?;
///     let mut executor = provider.create(&data)?;
///     executor.prepare(OptionsBuilder::new().build(), &go_on).await?;
///     executor.cleanup().await?;
///     provider.release(&config, data).await;
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let retry = RetryLayer::new();
/// let spare = ScriptedProvider::new();
/// let fallback = FallbackLayer::to(spare.shared()).also_after_failed_prepare();
///
/// let right = ProviderStack::new(preferred()).layer(&retry).layer(&fallback).build();
/// run_job(right).await?;
/// assert_eq!(spare.counts().create, 0);
///
/// let wrong = ProviderStack::new(preferred()).layer(&fallback).layer(&retry).build();
/// run_job(wrong).await?;
/// assert_eq!(spare.counts().create, 1);
/// # Ok(())
/// # }
/// ```
///
/// [`AcquireError::NoFreeExecutor`]: executor_core::AcquireError::NoFreeExecutor
/// [`AcquireError::Provider`]: executor_core::AcquireError::Provider
/// [`ExecutorData`]: executor_core::ExecutorData
#[derive(Debug, Clone)]
pub struct FallbackLayer {
    others: Vec<Arc<dyn ExecutorProvider>>,
    moves_on: MovesOn,
}

/// When a job goes on to the next provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MovesOn {
    AtAcquire,
    AlsoAfterFailedPrepare,
}

impl FallbackLayer {
    /// Returns a layer that goes on to `provider`.
    pub fn to(provider: Arc<dyn ExecutorProvider>) -> Self {
        Self {
            others: vec![provider],
            moves_on: MovesOn::AtAcquire,
        }
    }

    /// Adds a provider to ask after all the others.
    pub fn then(mut self, provider: Arc<dyn ExecutorProvider>) -> Self {
        self.others.push(provider);
        self
    }

    /// Goes on to the next provider as well when `prepare` fails through no fault of the job.
    ///
    /// That is a failure of the system or of an external dependency, a deadline of a
    /// [`TimeoutLayer`](crate::TimeoutLayer) inside, an environment that is gone, or an image that
    /// could not be had now. The failed executor is cleaned up, its capacity is released, and the
    /// job's log says where it goes on. Without this a failed preparation fails the job.
    pub fn also_after_failed_prepare(mut self) -> Self {
        self.moves_on = MovesOn::AlsoAfterFailedPrepare;
        self
    }
}

impl ProviderLayer for FallbackLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        let providers = std::iter::once(inner).chain(self.others.iter().cloned());
        Arc::new(FallbackProvider {
            members: Arc::new(Members::new(providers)),
            moves_on: self.moves_on,
        })
    }
}
