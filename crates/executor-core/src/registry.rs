//! The providers of a program, by name.

use crate::error::ProviderError;
use crate::features::FeaturesInfo;
use crate::provider::ExecutorProvider;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The error of registering a provider.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name is already registered.
    #[error("executor {name:?} is registered twice")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// The provider cannot create executors.
    #[error("executor {name:?} cannot be created")]
    CannotCreate {
        /// The name.
        name: String,
        /// The cause.
        #[source]
        source: ProviderError,
    },
    /// The provider cannot report its features.
    #[error("executor {name:?} cannot report its features")]
    Features {
        /// The name.
        name: String,
        /// The cause.
        #[source]
        source: ProviderError,
    },
    /// The provider has no default shell.
    #[error("executor {name:?} has no default shell")]
    NoDefaultShell {
        /// The name.
        name: String,
    },
}

/// The providers of a program, by the name that users select them by.
///
/// A program builds a registry and passes it on; there is no global registry. Registration checks the
/// provider, so a broken provider is found at startup and not with the first job.
#[derive(Debug, Default)]
pub struct ProviderRegistry {
    providers: BTreeMap<String, Arc<dyn ExecutorProvider>>,
}

impl ProviderRegistry {
    /// Returns an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks a provider and registers it under `name`.
    ///
    /// # Errors
    ///
    /// When the name is already registered, or the provider fails a check: `can_create`, `features`,
    /// `default_shell`. The registry is then unchanged.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        provider: Arc<dyn ExecutorProvider>,
    ) -> Result<(), RegisterError> {
        let name = name.into();
        if self.providers.contains_key(&name) {
            return Err(RegisterError::Duplicate { name });
        }
        if let Err(source) = provider.can_create() {
            return Err(RegisterError::CannotCreate { name, source });
        }
        if let Err(source) = provider.features(&mut FeaturesInfo::default()) {
            return Err(RegisterError::Features { name, source });
        }
        if provider.default_shell().is_none() {
            return Err(RegisterError::NoDefaultShell { name });
        }
        self.providers.insert(name, provider);
        Ok(())
    }

    /// Returns the provider of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn ExecutorProvider>> {
        self.providers.get(name)
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// Returns names and providers, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<dyn ExecutorProvider>)> {
        self.providers
            .iter()
            .map(|(name, provider)| (name.as_str(), provider))
    }
}
