//! The providers behind one, in the order they are asked.

use crate::fallback::policy::verdict;
use crate::held::{AllHeld, Held};
use crate::owner::Owner;
use crate::several::common_features;
use executor_core::{
    AcquireError, BuildError, Cancellation, Executor, ExecutorData, ExecutorProvider, FeaturesInfo,
    ProviderError, RunnerConfig,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a [`FallbackProvider`](crate::FallbackProvider) and its executors share.
#[derive(Debug)]
pub(super) struct Members {
    members: Vec<Member>,
    owner: Owner,
}

#[derive(Debug)]
struct Member {
    provider: Arc<dyn ExecutorProvider>,
    /// Whether its background work could not be started.
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

    /// Returns the provider that is preferred.
    pub(super) fn first(&self) -> &dyn ExecutorProvider {
        &*self.members[0].provider
    }

    /// Returns what holds whichever of them runs a job.
    pub(super) fn features(&self) -> Result<FeaturesInfo, ProviderError> {
        common_features(self.providers())
    }

    /// Calls `init` of all; one that fails is not asked for capacity later.
    pub(super) fn init(&self) -> Result<(), ProviderError> {
        let mut first = None;
        for (index, member) in self.members.iter().enumerate() {
            if let Err(error) = member.provider.init() {
                tracing::warn!(
                    provider = index + 1,
                    error = &error as &dyn std::error::Error,
                    "A provider could not be started; others take its jobs."
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

    /// Reserves capacity with the first member from number `from` on that has some.
    pub(super) async fn acquire_from(
        &self,
        from: usize,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<Held, AcquireError> {
        let mut refusals = Vec::new();
        for (index, member) in self.members.iter().enumerate().skip(from) {
            match member.acquire(config, cancellation).await {
                Ok(data) => {
                    tell_of_broken(&refusals);
                    return Ok(Held {
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
        tell_of_broken(&refusals);
        Err(verdict)
    }

    /// Returns the data of a job with what was reserved for it.
    pub(super) fn put(&self, held: Held) -> ExecutorData {
        let data = held.data.clone();
        self.owner.put(data, AllHeld::new(held))
    }

    pub(super) fn held<'d>(&self, data: &'d ExecutorData) -> Option<&'d AllHeld> {
        self.owner.find(data)
    }

    /// Creates an executor of the member that runs the job.
    pub(super) fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let Some(held) = self.held(data).and_then(AllHeld::current) else {
            return Err(BuildError::config("no provider was acquired for the job"));
        };
        let provider = &self.members[held.provider].provider;
        if held.provider == 0 {
            return provider.create(data);
        }
        // The member looks for its own from the newest end, and others have put in the same types.
        let mut data = data.clone();
        data.append(held.data);
        provider.create(&data)
    }

    pub(super) async fn release(&self, config: &RunnerConfig, held: Held) {
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
            let error = ProviderError::new("the provider could not be started");
            return Err(AcquireError::Provider(error.into()));
        }
        // A provider that reserves nothing would say yes to a job it cannot run.
        if let Err(error) = self.provider.can_create() {
            return Err(AcquireError::Provider(error.into()));
        }
        self.provider.acquire(config, cancellation).await
    }
}

/// Logs what nobody else would tell, because another provider took the job or spoke for all.
fn tell_of_broken(refusals: &[AcquireError]) {
    for refusal in refusals {
        if let AcquireError::Provider(error) = refusal {
            let error: &dyn std::error::Error = &**error;
            tracing::warn!(
                error,
                "A provider is broken, others are asked for its jobs."
            );
        }
    }
}
