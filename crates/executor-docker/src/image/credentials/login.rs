use bollard::auth::DockerCredentials;
use executor_core::job::SecretString;
use sha2::{Digest, Sha256};

/// A way to say who we are to a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Login {
    /// Who said so, for the log.
    pub(crate) source: String,
    pub(crate) username: String,
    pub(crate) secret: LoginSecret,
}

/// What proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoginSecret {
    Password(SecretString),
    /// Exchanged for a token of the registry's.
    IdentityToken(SecretString),
    /// Sent to the registry as it is.
    RegistryToken(SecretString),
}

impl Login {
    /// Returns the secret, for masks.
    pub(crate) fn secret(&self) -> &str {
        match &self.secret {
            LoginSecret::Password(secret)
            | LoginSecret::IdentityToken(secret)
            | LoginSecret::RegistryToken(secret) => secret.expose(),
        }
    }

    /// Returns it as the engine takes it.
    pub(crate) fn for_engine(&self, registry: &str) -> DockerCredentials {
        let secret = Some(self.secret().to_owned());
        let mut credentials = DockerCredentials {
            serveraddress: Some(registry.to_owned()),
            ..DockerCredentials::default()
        };
        match self.secret {
            LoginSecret::Password(_) => {
                credentials.username = Some(self.username.clone());
                credentials.password = secret;
            }
            LoginSecret::IdentityToken(_) => {
                credentials.username = Some(self.username.clone());
                credentials.identitytoken = secret;
            }
            LoginSecret::RegistryToken(_) => credentials.registrytoken = secret,
        }
        credentials
    }
}

/// Returns what tells lists of credentials apart without showing them.
pub(crate) fn fingerprint(logins: &[Login]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for login in logins {
        for part in [login.username.as_bytes(), login.secret().as_bytes()] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(username: &str, password: &str) -> Login {
        Login {
            source: "a test".to_owned(),
            username: username.to_owned(),
            secret: LoginSecret::Password(password.into()),
        }
    }

    #[test]
    fn fingerprints_tell_apart_and_debug_hides() {
        let one = fingerprint(&[login("ab", "c")]);
        assert_ne!(one, fingerprint(&[login("a", "bc")]));
        assert_eq!(one, fingerprint(&[login("ab", "c")]));
        let text = format!("{:?}", login("user", "hunter2"));
        assert!(text.contains("user") && !text.contains("hunter2"), "{text}");
    }
}
