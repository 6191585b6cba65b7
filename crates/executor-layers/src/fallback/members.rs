//! The providers of a fallback, in order of preference.

use crate::owner::Owner;
use crate::provider_set::common_features;
use crate::reservations::{Reservation, Reservations};
use executor_core::{
    AcquireError, BuildError, Cancellation, Executor, ExecutorData, ExecutorProvider, FeaturesInfo,
    ProviderError, RunnerConfig,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state that a [`FallbackProvider`](crate::FallbackProvider) and its executors share.
#[derive(Debug)]
pub(super) struct Members {
    members: Vec<Member>,
    owner: Owner,
}

#[derive(Debug)]
struct Member {
    provider: Arc<dyn ExecutorProvider>,
    /// Whether its `init` failed.
    is_broken: AtomicBool,
}

impl Members {
    pub(super) fn new(providers: impl IntoIterator<Item = Arc<dyn ExecutorProvider>>) -> Self {
        let members = providers.into_iter().map(|provider| Member {
            provider,
            is_broken: AtomicBool::new(false),
        });
        Self {
            members: members.collect(),
            owner: Owner::default(),
        }
    }

    pub(super) fn providers(&self) -> impl Iterator<Item = &Arc<dyn ExecutorProvider>> {
        self.members.iter().map(|member| &member.provider)
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the preferred provider.
    pub(super) fn first(&self) -> &dyn ExecutorProvider {
        &*self.members[0].provider
    }

    /// Returns the features that all members have.
    pub(super) fn features(&self) -> Result<FeaturesInfo, ProviderError> {
        common_features(self.providers())
    }

    /// Calls `init` of all members; `acquire` skips the failed ones.
    pub(super) fn init(&self) -> Result<(), ProviderError> {
        let mut first = None;
        for (index, member) in self.members.iter().enumerate() {
            if let Err(error) = member.provider.init() {
                tracing::warn!(
                    provider = index + 1,
                    error = &error as &dyn std::error::Error,
                    "Failed to start a provider; others take its jobs."
                );
                member.is_broken.store(true, Ordering::Relaxed);
                first.get_or_insert(error);
            }
        }
        let broken = |member: &Member| member.is_broken.load(Ordering::Relaxed);
        match first {
            Some(error) if self.members.iter().all(broken) => Err(error),
            _ => Ok(()),
        }
    }

    /// Reserves capacity with the first member that has some, starting at index `from`.
    pub(super) async fn acquire_from(
        &self,
        from: usize,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<Reservation, AcquireError> {
        let mut refusals = Vec::new();
        for (index, member) in self.members.iter().enumerate().skip(from) {
            match member.acquire(config, cancellation).await {
                Ok(data) => {
                    log_broken(&refusals);
                    return Ok(Reservation {
                        provider: index,
                        data,
                    });
                }
                Err(AcquireError::Canceled(cause)) if cancellation.is_canceled() => {
                    return Err(AcquireError::Canceled(cause));
                }
                Err(error) => refusals.push(error),
            }
        }
        let verdict = verdict(&mut refusals);
        log_broken(&refusals);
        Err(verdict)
    }

    /// Returns the data of a job with its reservation.
    pub(super) fn put(&self, held: Reservation) -> ExecutorData {
        let data = held.data.clone();
        self.owner.put(data, Reservations::new(held))
    }

    pub(super) fn held<'d>(&self, data: &'d ExecutorData) -> Option<&'d Reservations> {
        self.owner.find(data)
    }

    /// Creates an executor of the member that runs the job.
    pub(super) fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let Some(held) = self.held(data).and_then(Reservations::current) else {
            return Err(BuildError::config("no provider is acquired for the job"));
        };
        let provider = &self.members[held.provider].provider;
        if held.provider == 0 {
            return provider.create(data);
        }
        // The member looks up its values from the newest end, and others may have added the same types.
        let mut data = data.clone();
        data.append(held.data);
        provider.create(&data)
    }

    pub(super) async fn release(&self, config: &RunnerConfig, held: Reservation) {
        let provider = &self.members[held.provider].provider;
        provider.release(config, held.data).await;
    }
}

impl Member {
    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        if self.is_broken.load(Ordering::Relaxed) {
            let error = ProviderError::new("the provider failed to start");
            return Err(AcquireError::Provider(error.into()));
        }
        // A provider that reserves nothing would accept a job it cannot run.
        if let Err(error) = self.provider.can_create() {
            return Err(AcquireError::Provider(error.into()));
        }
        self.provider.acquire(config, cancellation).await
    }
}

/// Logs the errors that no caller sees, because another provider took the job or answered for all.
fn log_broken(refusals: &[AcquireError]) {
    for refusal in refusals {
        if let AcquireError::Provider(error) = refusal {
            let error: &dyn std::error::Error = &**error;
            tracing::warn!(error, "A provider failed; others are tried for its jobs.");
        }
    }
}

/// Takes the error to report out of the refusals of all providers, in their order.
///
/// A busy provider makes the worker retry, so its refusal counts; otherwise the first one does.
fn verdict(refusals: &mut Vec<AcquireError>) -> AcquireError {
    let is_broken = |refusal: &AcquireError| matches!(refusal, AcquireError::Provider(_));
    if refusals.is_empty() || !refusals.iter().all(is_broken) {
        return AcquireError::NoFreeExecutor;
    }
    refusals.remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::CancelCause;

    #[test]
    fn busy_provider_decides_the_error() {
        let broken = |text: &str| AcquireError::Provider(text.into());
        let withdrawn = AcquireError::Canceled(CancelCause::EnvironmentLost);
        let check = |mut refusals: Vec<_>, expect: &str, untold: usize| {
            let verdict = verdict(&mut refusals);
            assert_eq!(executor_core::chain(&verdict), expect);
            assert_eq!(refusals.len(), untold);
        };
        let full = || AcquireError::NoFreeExecutor;
        let first = "acquire an executor: first";
        check(vec![broken("first"), broken("second")], first, 1);
        check(vec![broken("first"), full()], "no free executor", 2);
        check(vec![withdrawn], "no free executor", 1);
        check(vec![], "no free executor", 0);
    }
}
