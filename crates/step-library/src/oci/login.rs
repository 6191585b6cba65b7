use async_trait::async_trait;
use executor_core::job::SecretString;
use std::fmt;

/// Knows who the user of this program is to registries: a file of docker, helpers, a vault.
#[async_trait]
pub trait Credentials: fmt::Debug + Send + Sync {
    /// Returns who asks a registry for a repository; `None` for nobody in particular.
    ///
    /// # Errors
    ///
    /// Says why that cannot be found out; a secret is not in it. The registry is asked as by nobody in particular then,
    /// and when it does not let in such, this is told.
    async fn login(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Option<RegistryLogin>, String>;
}

/// Who asks a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryLogin {
    /// A name and a password.
    Password {
        /// The name.
        username: String,
        /// The password.
        password: SecretString,
    },
    /// A token that is changed for another one where the registry says.
    IdentityToken(SecretString),
    /// A token that the registry itself takes.
    RegistryToken(SecretString),
}
