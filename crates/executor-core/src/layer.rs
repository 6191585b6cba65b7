//! Providers that wrap providers.

use crate::provider::ExecutorProvider;
use std::fmt::Debug;
use std::sync::Arc;

/// Wraps a provider in another provider that changes a part of its behaviour.
///
/// A layer that limits capacity changes `acquire` and `release`; a layer that acts on each job also
/// wraps the executors of `create`. A wrapper forwards every method it does not change, and adds to
/// the inner provider's [`ExecutorData`](crate::ExecutorData) without replacing it.
pub trait ProviderLayer: Debug {
    /// Returns `inner` wrapped.
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider>;
}

/// Builds a stack of providers, the innermost first.
///
/// The layer added last is called first. In `ProviderStack::new(docker).layer(&machines).layer(&limit)`
/// the limit guards the machines: no machine is reserved for a job beyond it. In the other order, a
/// machine would be reserved while the limit still waits.
#[derive(Debug)]
pub struct ProviderStack {
    provider: Arc<dyn ExecutorProvider>,
}

impl ProviderStack {
    /// Starts a stack with its innermost provider.
    pub fn new(provider: impl ExecutorProvider + 'static) -> Self {
        Self::from_arc(Arc::new(provider))
    }

    /// Starts a stack with a shared innermost provider.
    pub fn from_arc(provider: Arc<dyn ExecutorProvider>) -> Self {
        Self { provider }
    }

    /// Wraps the stack in a layer.
    pub fn layer(self, layer: &dyn ProviderLayer) -> Self {
        Self {
            provider: layer.layer(self.provider),
        }
    }

    /// Returns the whole stack as one provider.
    pub fn build(self) -> Arc<dyn ExecutorProvider> {
        self.provider
    }
}
