use executor_core::job::SecretString;

/// A login at a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLogin {
    /// The user's name; empty for some tokens.
    pub username: String,
    /// The proof.
    pub secret: LoginSecret,
}

/// The secret of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginSecret {
    /// A password.
    Password(SecretString),
    /// A token that is exchanged for another one at the registry's token server.
    IdentityToken(SecretString),
    /// A token that the registry itself accepts.
    RegistryToken(SecretString),
}

/// A login with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedLogin {
    /// The variable or file it comes from, for the log.
    pub source: String,
    /// The login.
    pub login: RegistryLogin,
}

impl LoginSecret {
    /// Returns the secret, for masks and requests.
    pub fn expose(&self) -> &str {
        match self {
            Self::Password(secret) | Self::IdentityToken(secret) | Self::RegistryToken(secret) => {
                secret.expose()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_secret() {
        let login = RegistryLogin {
            username: "user".to_owned(),
            secret: LoginSecret::Password("hunter2".into()),
        };
        let text = format!("{login:?}");
        assert!(text.contains("user") && !text.contains("hunter2"), "{text}");
    }
}
