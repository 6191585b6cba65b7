use crate::docker_config::{DockerConfig, Found, MAX_CONFIG};
use crate::helper::{self, Helpers};
use crate::registry_key::RegistryKey;
use crate::{CredentialSources, ImageRepository, LoginSecret, RegistryLogin, SourcedLogin};
use async_trait::async_trait;
use executor_core::job::SecretString;
use process::ProcessTree;
use std::ffi::OsString;
use std::fmt;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Finds the logins for a repository. `Debug` shows none of them.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    sources: CredentialSources,
    helpers: HelperUse,
}

/// How the helpers that sources name are used.
#[derive(Debug, Clone, Default)]
enum HelperUse {
    /// They cannot be started, which is a warning.
    #[default]
    Unavailable,
    /// The sources count as if they named none.
    Ignored,
    Run(Helpers),
}

/// The logins for a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLogins {
    /// In the order to try them.
    pub logins: Vec<SourcedLogin>,
    /// Which sources are invalid, and why.
    pub warnings: Vec<String>,
}

impl Credentials {
    /// Returns credentials from these sources. A helper that they name is not started, and a warning says so.
    pub fn new(sources: CredentialSources) -> Self {
        Self {
            sources,
            helpers: HelperUse::Unavailable,
        }
    }

    /// Starts the helpers that the sources name, in a tree.
    pub fn with_helpers(mut self, tree: ProcessTree) -> Self {
        self.helpers = HelperUse::Run(Helpers {
            tree,
            path: None,
            deadline: helper::DEADLINE,
        });
        self
    }

    /// Looks for helpers on this search path instead of the runner's.
    pub fn with_helper_path(mut self, path: impl Into<OsString>) -> Self {
        if let HelperUse::Run(helpers) = &mut self.helpers {
            helpers.path = Some(path.into());
        }
        self
    }

    /// Ignores helpers, without a warning.
    pub fn ignoring_helpers(mut self) -> Self {
        self.helpers = HelperUse::Ignored;
        self
    }

    /// Returns all logins for a repository.
    pub async fn find(&self, repository: &ImageRepository) -> FoundLogins {
        let mut logins = Vec::new();
        let mut warnings = Vec::new();
        for (source, config) in self.configs() {
            let found = match config {
                Ok(config) => self.in_config(&config, repository).await,
                Err(reason) => Err(reason),
            };
            match found {
                Ok(Some(login)) => logins.push(SourcedLogin { source, login }),
                Ok(None) => {}
                Err(reason) => {
                    warnings.push(format!("credentials of {source} are not used: {reason}"));
                }
            }
        }
        logins.extend(self.in_payload(repository));
        FoundLogins {
            logins: distinct(logins),
            warnings,
        }
    }

    /// Reads the config of each source.
    fn configs(&self) -> Vec<(String, Result<DockerConfig, String>)> {
        let sources = &self.sources;
        let mut configs = Vec::new();
        for (name, text) in [
            ("$DOCKER_AUTH_CONFIG", &sources.job),
            ("$DOCKER_AUTH_CONFIG of the runner", &sources.runner),
        ] {
            let text = text.as_ref().map(SecretString::expose);
            if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                configs.push((name.to_owned(), DockerConfig::parse(text)));
            }
        }
        if let Some(path) = &sources.file {
            let config = match read_file(path) {
                Ok(Some(text)) => DockerConfig::parse(&text),
                Ok(None) => return configs,
                Err(reason) => Err(reason),
            };
            configs.push((path.display().to_string(), config));
        }
        configs
    }

    async fn in_config(
        &self,
        config: &DockerConfig,
        repository: &ImageRepository,
    ) -> Result<Option<RegistryLogin>, String> {
        if matches!(self.helpers, HelperUse::Ignored) {
            return config.login(repository);
        }
        match (config.find(repository)?, &self.helpers) {
            (None, _) => Ok(None),
            (Some(Found::Login(login)), _) => Ok(Some(login)),
            (Some(Found::Helper { name, key }), HelperUse::Run(helpers)) => {
                helper::get(helpers, &name, &key).await
            }
            (Some(Found::Helper { .. }), _) => {
                Err("credential helpers cannot be started here".to_owned())
            }
        }
    }

    fn in_payload(&self, repository: &ImageRepository) -> Option<SourcedLogin> {
        let entries = self.sources.payload.iter();
        let (_, best) = entries
            .filter(|entry| entry.kind == "registry" && !entry.url.is_empty())
            .filter_map(|entry| Some((RegistryKey::new(&entry.url).fit(repository)?, entry)))
            .max_by_key(|(fit, _)| *fit)?;
        Some(SourcedLogin {
            source: "the job".to_owned(),
            login: RegistryLogin {
                username: best.username.clone(),
                secret: LoginSecret::Password(best.password.clone()),
            },
        })
    }
}

/// Keeps the first of equal logins.
fn distinct(logins: Vec<SourcedLogin>) -> Vec<SourcedLogin> {
    let mut distinct: Vec<SourcedLogin> = Vec::new();
    for found in logins {
        if !distinct.iter().any(|other| other.login == found.login) {
            distinct.push(found);
        }
    }
    distinct
}

fn read_file(path: &Path) -> Result<Option<String>, String> {
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    let mut text = String::new();
    let limit = u64::try_from(MAX_CONFIG + 1).unwrap_or(u64::MAX);
    match file.take(limit).read_to_string(&mut text) {
        Ok(_) => Ok(Some(text)),
        Err(error) => Err(error.to_string()),
    }
}

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
    use crate::ImageReference;
    use executor_core::job::Credentials as JobCredentials;
    use std::fs;

    fn document(password: &str) -> String {
        format!(r#"{{"auths": {{"a.example": {{"username": "u", "password": "{password}"}}}}}}"#)
    }

    fn payload(url: &str, password: &str) -> JobCredentials {
        JobCredentials {
            kind: "registry".to_owned(),
            url: url.to_owned(),
            username: "u".to_owned(),
            password: password.into(),
        }
    }

    async fn find(sources: CredentialSources) -> (Vec<String>, Vec<String>) {
        let reference = ImageReference::parse("a.example/team/app").unwrap();
        let credentials = Credentials::new(sources);
        let found = credentials.find(reference.repository()).await;
        let secrets = found
            .logins
            .iter()
            .map(|it| it.login.secret.expose().to_owned());
        (secrets.collect(), found.warnings)
    }

    #[tokio::test]
    async fn sources_are_tried_in_gitlabs_order() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.json");
        fs::write(&file, document("three")).unwrap();
        let mut sources = CredentialSources {
            runner: Some(document("two").into()),
            file: Some(file),
            ..CredentialSources::default()
        };
        let sent = [
            payload("a.example", "five"),
            payload("a.example/team", "four"),
        ];
        sources = sources.with_job(Some(&document("one")), &sent);
        let (secrets, warnings) = find(sources).await;
        assert_eq!(secrets, ["one", "two", "three", "four"]);
        assert_eq!(warnings, [""; 0]);
    }

    #[tokio::test]
    async fn invalid_source_is_named_and_the_others_are_used() {
        let directory = tempfile::tempdir().unwrap();
        let sources = CredentialSources {
            runner: Some(document("two").into()),
            // A directory cannot be read as a file.
            file: Some(directory.path().to_owned()),
            ..CredentialSources::default()
        };
        let sources = sources.with_job(Some("{hunter2"), &[]);
        let (secrets, warnings) = find(sources).await;
        assert_eq!(secrets, ["two"]);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].starts_with("credentials of $DOCKER_AUTH_CONFIG are not used"));
        assert!(!warnings.concat().contains("hunter2"), "{warnings:?}");
    }

    #[tokio::test]
    async fn equal_logins_are_tried_once_and_an_absent_file_is_fine() {
        let sources = CredentialSources {
            runner: Some(document("one").into()),
            file: Some("/nonexistent/config.json".into()),
            ..CredentialSources::default()
        };
        let found = find(sources.with_job(Some(&document("one")), &[])).await;
        assert_eq!(found, (vec!["one".to_owned()], vec![]));
    }

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
