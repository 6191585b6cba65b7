use crate::fallback::FallbackProvider;
use crate::fallback::members::Members;
use executor_core::{ExecutorProvider, ProviderLayer};
use std::sync::Arc;

/// Tries the next provider when one has no capacity or fails.
///
/// The wrapped provider is preferred; the others follow in the order of their addition. Each job tries
/// them in that order again, so jobs return to the preferred provider by themselves.
///
/// # What it changes
///
/// - `acquire` tries the next provider after every refusal, [`AcquireError::NoFreeExecutor`] and
///   [`AcquireError::Provider`] alike, and after a failed `can_create` or `init`. When all refuse, it
///   reports no capacity if at least one is only busy, otherwise the error of the first.
/// - `prepare`, [if enabled](Self::also_after_failed_prepare), tries the next provider after a failure
///   that is not the job's fault.
/// - `features` are those that **all** providers have, because they are reported before a provider is
///   chosen. Terminals, steps connections and port proxies beyond them are hidden.
/// - `config_info` and `default_shell` are those of the preferred provider. The environment returned by
///   `prepare` has the actual shell.
/// - `can_create` and `init` succeed when one provider does; `shutdown` ends all.
/// - `release` goes to the provider that reserved, as recorded in the [`ExecutorData`]. Without that
///   data, `create` fails.
///
/// A [resumed](executor_core::ability::ResumeHandle) job does not return to the provider of its
/// suspended environment: other providers refuse the handle.
///
/// # Examples
///
/// Right: a [`RetryLayer`](crate::RetryLayer) around each provider, which makes all its attempts before
/// the next provider is tried. Wrong: one around all of them, where the first temporary error moves the
/// job to another provider.
///
/// ```
/// use executor_core::prelude::*;
/// use executor_layers::{FallbackLayer, RetryLayer};
/// use executor_testkit::{Directive, Failure, Moment, OptionsBuilder, ScriptedProvider, runner_config};
///
/// /// Connects at the second attempt.
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
    trigger: FallbackTrigger,
}

/// The failures after which a job moves to the next provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FallbackTrigger {
    Acquire,
    AcquireOrPrepare,
}

impl FallbackLayer {
    /// Returns a layer that falls back to `provider`.
    pub fn to(provider: Arc<dyn ExecutorProvider>) -> Self {
        Self {
            others: vec![provider],
            trigger: FallbackTrigger::Acquire,
        }
    }

    /// Adds a provider to try after all others.
    pub fn then(mut self, provider: Arc<dyn ExecutorProvider>) -> Self {
        self.others.push(provider);
        self
    }

    /// Also tries the next provider when `prepare` fails through no fault of the job.
    ///
    /// Such failures are those of the system or of an external service, a deadline of an inner
    /// [`TimeoutLayer`](crate::TimeoutLayer), a lost environment, and a temporary failure to pull an image.
    /// The failed executor is cleaned up, its capacity is released, and the job's log names the next
    /// provider. By default a failed preparation fails the job.
    pub fn also_after_failed_prepare(mut self) -> Self {
        self.trigger = FallbackTrigger::AcquireOrPrepare;
        self
    }
}

impl ProviderLayer for FallbackLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        let providers = std::iter::once(inner).chain(self.others.iter().cloned());
        Arc::new(FallbackProvider {
            members: Arc::new(Members::new(providers)),
            trigger: self.trigger,
        })
    }
}
