//! Providers that wrap providers.

use crate::provider::ExecutorProvider;
use std::fmt::Debug;
use std::sync::Arc;

/// Wraps a provider in another one that changes a part of what it does.
///
/// A layer that guards capacity changes `acquire` and `release`; one that acts on each job wraps the
/// executors of `create` as well. A wrapper forwards every method it does not change and adds to the
/// inner provider's [`ExecutorData`](crate::ExecutorData) without replacing it.
pub trait ProviderLayer: Debug {
    /// Returns `inner` wrapped.
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider>;
}

/// Builds a stack of providers, from the inside out.
///
/// The layer added last is asked first. In `ProviderStack::new(docker).layer(&machines).layer(&limit)`
/// the limit guards the machines: no machine is reserved for a job beyond it. The other way round a
/// machine would be reserved, and held, while the limit still waits.
#[derive(Debug)]
pub struct ProviderStack {
    provider: Arc<dyn ExecutorProvider>,
}

impl ProviderStack {
    /// Starts a stack with its innermost provider.
    pub fn new(provider: impl ExecutorProvider + 'static) -> Self {
        Self::from_arc(Arc::new(provider))
    }

    /// Starts a stack with an innermost provider that is shared already.
    pub fn from_arc(provider: Arc<dyn ExecutorProvider>) -> Self {
        Self { provider }
    }

    /// Puts a layer around all there is so far.
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
