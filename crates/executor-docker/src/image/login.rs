use bollard::auth::DockerCredentials;
use registry::{LoginSecret, SourcedLogin};
use sha2::{Digest, Sha256};

/// Returns a login in the form that the engine takes.
pub(crate) fn docker_credentials(login: &SourcedLogin, registry: &str) -> DockerCredentials {
    let (username, secret) = (&login.login.username, &login.login.secret);
    let exposed = Some(secret.expose().to_owned());
    let mut credentials = DockerCredentials {
        serveraddress: Some(registry.to_owned()),
        ..DockerCredentials::default()
    };
    match secret {
        LoginSecret::Password(_) => {
            credentials.username = Some(username.clone());
            credentials.password = exposed;
        }
        LoginSecret::IdentityToken(_) => {
            credentials.username = Some(username.clone());
            credentials.identitytoken = exposed;
        }
        LoginSecret::RegistryToken(_) => credentials.registrytoken = exposed,
    }
    credentials
}

/// Returns a digest that distinguishes lists of logins without showing them.
pub(crate) fn fingerprint(logins: &[SourcedLogin]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for SourcedLogin { login, .. } in logins {
        for part in [login.username.as_bytes(), login.secret.expose().as_bytes()] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry::RegistryLogin;

    #[test]
    fn fingerprints_distinguish_logins() {
        let login = |username: &str, password: &str| SourcedLogin {
            source: "a test".to_owned(),
            login: RegistryLogin {
                username: username.to_owned(),
                secret: LoginSecret::Password(password.into()),
            },
        };
        let one = fingerprint(&[login("ab", "c")]);
        assert_ne!(one, fingerprint(&[login("a", "bc")]));
        assert_eq!(one, fingerprint(&[login("ab", "c")]));
    }
}
