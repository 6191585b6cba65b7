use crate::image::credentials::document::{Document, Found, MAX_DOCUMENT};
use crate::image::credentials::helper::{self, Helpers};
use crate::image::credentials::key::RegistryKey;
use crate::image::credentials::login::{Login, LoginSecret};
use crate::image::credentials::sources::CredentialSources;
use crate::image::reference::ImageReference;
use process::ProcessTree;
use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Finds the credentials for an image. `Debug` shows none of them.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    sources: CredentialSources,
    helpers: Option<Helpers>,
}

impl Credentials {
    /// Looks in these sources; helpers that they name are not started.
    pub fn new(sources: CredentialSources) -> Self {
        Self {
            sources,
            helpers: None,
        }
    }

    /// Lets the helpers that the sources name run in a tree.
    pub fn with_helpers(mut self, tree: ProcessTree) -> Self {
        self.helpers = Some(Helpers {
            tree,
            path: None,
            deadline: helper::DEADLINE,
        });
        self
    }

    /// Looks for helpers on this search path instead of the runner's.
    pub fn with_helper_path(mut self, path: impl Into<OsString>) -> Self {
        if let Some(helpers) = &mut self.helpers {
            helpers.path = Some(path.into());
        }
        self
    }

    /// Returns all credentials for an image, in the order to try them, and what is wrong with sources.
    pub(crate) async fn find(&self, reference: &ImageReference) -> (Vec<Login>, Vec<String>) {
        let mut logins = Vec::new();
        let mut warnings = Vec::new();
        let sources = &self.sources;
        let mut documents = Vec::new();
        for (name, text) in [
            ("$DOCKER_AUTH_CONFIG", &sources.job),
            ("$DOCKER_AUTH_CONFIG of the runner", &sources.runner),
        ] {
            if let Some(text) = text {
                documents.push((name.to_owned(), Document::parse(text.expose())));
            }
        }
        if let Some(path) = &sources.file {
            let name = path.display().to_string();
            match read_file(path) {
                Ok(Some(text)) => documents.push((name, Document::parse(&text))),
                Ok(None) => {}
                Err(what) => documents.push((name, Err(what))),
            }
        }
        for (source, document) in documents {
            let found = match document {
                Ok(document) => self.in_document(&document, reference).await,
                Err(what) => Err(what),
            };
            match found {
                Ok(Some((username, secret))) => logins.push(Login {
                    source,
                    username,
                    secret,
                }),
                Ok(None) => {}
                Err(what) => warnings.push(format!("credentials of {source} are not used: {what}")),
            }
        }
        logins.extend(self.in_payload(reference));
        (distinct(logins), warnings)
    }

    async fn in_document(
        &self,
        document: &Document,
        reference: &ImageReference,
    ) -> Result<Option<(String, LoginSecret)>, String> {
        match document.find(reference)? {
            None => Ok(None),
            Some(Found::Login { username, secret }) => Ok(Some((username, secret))),
            Some(Found::Helper { name, key }) => match &self.helpers {
                Some(helpers) => helper::ask(helpers, &name, &key).await,
                None => Err("credential helpers cannot be started here".to_owned()),
            },
        }
    }

    fn in_payload(&self, reference: &ImageReference) -> Option<Login> {
        let entries = self.sources.payload.iter();
        let (_, best) = entries
            .filter(|entry| entry.kind == "registry" && !entry.url.is_empty())
            .filter_map(|entry| Some((RegistryKey::new(&entry.url).fit(reference)?, entry)))
            .max_by_key(|(fit, _)| *fit)?;
        Some(Login {
            source: "the job".to_owned(),
            username: best.username.clone(),
            secret: LoginSecret::Password(best.password.clone()),
        })
    }
}

fn distinct(logins: Vec<Login>) -> Vec<Login> {
    let mut distinct: Vec<Login> = Vec::new();
    for login in logins {
        let same = |other: &Login| other.username == login.username && other.secret == login.secret;
        if !distinct.iter().any(same) {
            distinct.push(login);
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
    let limit = u64::try_from(MAX_DOCUMENT + 1).unwrap_or(u64::MAX);
    match file.take(limit).read_to_string(&mut text) {
        Ok(_) => Ok(Some(text)),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::Credentials as JobCredentials;

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
        let (logins, warnings) = Credentials::new(sources).find(&reference).await;
        let secrets = logins.iter().map(|login| login.secret().to_owned());
        (secrets.collect(), warnings)
    }

    #[tokio::test]
    async fn all_sources_are_tried_in_the_order_of_gitlab() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.json");
        std::fs::write(&file, document("three")).unwrap();
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
    async fn a_broken_source_is_named_and_the_others_count() {
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
    async fn the_same_twice_is_tried_once_and_no_file_is_no_fault() {
        let sources = CredentialSources {
            runner: Some(document("one").into()),
            file: Some("/nonexistent/config.json".into()),
            ..CredentialSources::default()
        };
        let found = find(sources.with_job(Some(&document("one")), &[])).await;
        assert_eq!(found, (vec!["one".to_owned()], vec![]));
    }
}
