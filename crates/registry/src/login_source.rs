use crate::{Credentials, ImageRepository, RegistryLogin};
use async_trait::async_trait;
use std::fmt;

/// Finds the logins of the user who runs this program: in docker's files, or in a vault.
#[async_trait]
pub trait LoginSource: fmt::Debug + Send + Sync {
    /// Returns the login for a repository; `None` where the user has none.
    ///
    /// # Errors
    ///
    /// Returns the reason why that is unknown, without a secret. The registry is then asked without a login, and the reason
    /// is reported only if the registry refuses that.
    async fn login(&self, repository: &ImageRepository) -> Result<Option<RegistryLogin>, String>;
}

#[async_trait]
impl LoginSource for Credentials {
    async fn login(&self, repository: &ImageRepository) -> Result<Option<RegistryLogin>, String> {
        let mut found = self.find(repository).await;
        if !found.logins.is_empty() {
            return Ok(Some(found.logins.swap_remove(0).login));
        }
        match found.warnings.into_iter().next() {
            Some(warning) => Err(warning),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CredentialSources, LoginSecret};
    use executor_core::job::SecretString;
    use std::fs;

    fn config(registry: &str, user: &str) -> String {
        format!(r#"{{"auths": {{"{registry}": {{"username": "{user}", "password": "p"}}}}}}"#)
    }

    #[tokio::test]
    async fn variable_comes_before_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        fs::write(&file, config("b.example", "of-file")).unwrap();
        let check =
            async |variable: Option<String>, registry: &str, expect: Result<Option<&str>, &str>| {
                let sources = CredentialSources {
                    runner: variable.map(SecretString::new),
                    file: Some(file.clone()),
                    ..CredentialSources::default()
                };
                let credentials = Credentials::new(sources).ignoring_helpers();
                let repository = ImageRepository::parse(registry, "g/p").unwrap();
                match (credentials.login(&repository).await, expect) {
                    (Ok(Some(login)), Ok(Some(user))) => {
                        assert_eq!(login.username, user);
                        assert_eq!(login.secret, LoginSecret::Password("p".into()));
                    }
                    (Ok(None), Ok(None)) => {}
                    (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
                    (found, _) => panic!("{registry}: {found:?}"),
                }
            };
        let of_a = || Some(config("a.example", "of-variable"));
        check(of_a(), "a.example", Ok(Some("of-variable"))).await;
        check(of_a(), "b.example", Ok(Some("of-file"))).await;
        check(of_a(), "c.example", Ok(None)).await;
        check(Some(String::new()), "b.example", Ok(Some("of-file"))).await;
        let broken = || Some("{".to_owned());
        check(broken(), "b.example", Ok(Some("of-file"))).await;
        check(broken(), "c.example", Err("DOCKER_AUTH_CONFIG")).await;
        fs::write(&file, "[").unwrap();
        check(None, "b.example", Err("config.json")).await;
        let helper = r#"{"credsStore": "never-started", "credHelpers": {"b.example": "nor-this"}}"#;
        fs::write(&file, helper).unwrap();
        check(None, "b.example", Ok(None)).await;
        fs::remove_file(&file).unwrap();
        check(None, "b.example", Ok(None)).await;
    }
}
