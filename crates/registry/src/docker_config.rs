use crate::registry_key::{HUB_KEY, RegistryKey};
use crate::{ImageRepository, LoginSecret, RegistryLogin};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The most bytes of a config.json; real ones have a few kilobytes.
pub(crate) const MAX_CONFIG: usize = 1 << 20;

/// The logins in docker's `config.json` or in a variable `DOCKER_AUTH_CONFIG`.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DockerConfig {
    auths: Option<BTreeMap<String, Entry>>,
    creds_store: Option<String>,
    cred_helpers: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

/// Where the login for a repository is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// In the config itself.
    Login(RegistryLogin),
    /// In a credential helper, under this key.
    Helper { name: String, key: String },
}

impl DockerConfig {
    /// Reads a config. The error never shows a part of it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_CONFIG {
            return Err("it is larger than 1 MiB".to_owned());
        }
        let text = text.trim().trim_start_matches('\u{feff}');
        serde_json::from_str(text).map_err(|error| {
            let what = match error.classify() {
                serde_json::error::Category::Data => "a value has the wrong type",
                serde_json::error::Category::Eof => "it ends in the middle",
                _ => "it is not JSON",
            };
            format!("{what}, line {} column {}", error.line(), error.column())
        })
    }

    /// Returns where the login for a repository is: in the helper for its registry, in the entry with the longest path, or
    /// else in the store for all registries.
    ///
    /// # Errors
    ///
    /// The reason why the entry is invalid, without a part of it.
    pub(crate) fn find(&self, repository: &ImageRepository) -> Result<Option<Found>, String> {
        let helpers = self.cred_helpers.iter().flatten();
        if let Some((key, name)) = best(helpers, repository) {
            let (name, key) = (name.clone(), key.clone());
            return Ok(Some(Found::Helper { name, key }));
        }
        if let Some(login) = self.login(repository)? {
            return Ok(Some(Found::Login(login)));
        }
        let Some(name) = self.creds_store.clone().filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let entry = best(self.auths.iter().flatten(), repository);
        let key = match (entry, repository.registry()) {
            (Some((key, _)), _) => key.clone(),
            (None, "docker.io") => HUB_KEY.to_owned(),
            (None, registry) => registry.to_owned(),
        };
        Ok(Some(Found::Helper { name, key }))
    }

    /// Returns the login in the config itself, whatever helpers it names.
    ///
    /// # Errors
    ///
    /// The reason why the entry is invalid, without a part of it.
    pub(crate) fn login(
        &self,
        repository: &ImageRepository,
    ) -> Result<Option<RegistryLogin>, String> {
        match best(self.auths.iter().flatten(), repository) {
            // The key is a host, so it may be shown.
            Some((key, entry)) => entry
                .read()
                .map_err(|reason| format!("the entry for {key:?} {reason}")),
            None => Ok(None),
        }
    }
}

fn best<'a, T>(
    entries: impl Iterator<Item = (&'a String, &'a T)>,
    repository: &ImageRepository,
) -> Option<(&'a String, &'a T)> {
    entries
        .filter_map(|(key, value)| Some((RegistryKey::new(key).fit(repository)?, key, value)))
        .max_by_key(|(fit, ..)| *fit)
        .map(|(_, key, value)| (key, value))
}

impl Entry {
    /// Returns the login; `None` where the entry is empty because a store has it.
    fn read(&self) -> Result<Option<RegistryLogin>, &'static str> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let mut username = given(&self.username).unwrap_or_default();
        let mut password = given(&self.password);
        if let Some(auth) = given(&self.auth) {
            let pair = STANDARD.decode(auth.trim().trim_end_matches('\0'));
            let pair = pair.map_err(|_| "has an `auth` that is not in base64")?;
            let pair = String::from_utf8(pair).map_err(|_| "has an `auth` that is not text")?;
            let (name, rest) = pair
                .split_once(':')
                .ok_or("has an `auth` without a colon between name and password")?;
            name.clone_into(&mut username);
            password = Some(rest.trim_end_matches('\0').to_owned());
        }
        let secret = if let Some(token) = given(&self.registrytoken) {
            LoginSecret::RegistryToken(token.into())
        } else if let Some(token) = given(&self.identitytoken) {
            LoginSecret::IdentityToken(token.into())
        } else {
            match password {
                Some(password) => LoginSecret::Password(password.into()),
                None if username.is_empty() => return Ok(None),
                None => return Err("has a name and no password"),
            }
        };
        Ok(Some(RegistryLogin { username, secret }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImageReference;

    fn find(document: &str, image: &str) -> Result<Option<Found>, String> {
        let reference = ImageReference::parse(image).unwrap();
        DockerConfig::parse(document)?.find(reference.repository())
    }

    fn login(document: &str, image: &str, username: &str, secret: LoginSecret) {
        let username = username.to_owned();
        let expected = Found::Login(RegistryLogin { username, secret });
        assert_eq!(find(document, image), Ok(Some(expected)), "{image}");
    }

    fn password(text: &str) -> LoginSecret {
        LoginSecret::Password(text.into())
    }

    #[test]
    fn entry_with_the_longest_path_wins() {
        let document = r#"{"auths": {
            "host.example": {"auth": "YTpvbmU="},
            "host.example/team": {"auth": "Yjp0d286dGhyZWU="},
            "https://index.docker.io/v1/": {"username": "h", "password": "hub"}
        }, "HttpHeaders": {"User-Agent": "x"}}"#;
        login(document, "host.example/other/app", "a", password("one"));
        login(
            document,
            "host.example/team/app",
            "b",
            password("two:three"),
        );
        login(document, "busybox", "h", password("hub"));
        assert_eq!(find(document, "else.example/app"), Ok(None));
    }

    #[test]
    fn tokens_and_passwords_are_distinguished() {
        let document = r#"{"auths": {
            "a.example": {"auth": "dTo=", "identitytoken": "t1"},
            "b.example": {"registrytoken": "t2"}
        }}"#;
        let identity = LoginSecret::IdentityToken("t1".into());
        login(document, "a.example/app", "u", identity);
        let registry = LoginSecret::RegistryToken("t2".into());
        login(document, "b.example/app", "", registry);
    }

    #[test]
    fn helper_serves_its_registry_and_the_store_the_rest() {
        let document = r#"{"auths": {"a.example": {}}, "credsStore": "all",
            "credHelpers": {"b.example": "one"}}"#;
        let check = |image: &str, name: &str, key: &str| {
            let (name, key) = (name.to_owned(), key.to_owned());
            assert_eq!(find(document, image), Ok(Some(Found::Helper { name, key })));
        };
        check("a.example/app", "all", "a.example");
        check("b.example/app", "one", "b.example");
        check("busybox", "all", HUB_KEY);
    }

    #[test]
    fn errors_show_no_part_of_the_config() {
        let check = |document: &str, part: &str| {
            let error = find(document, "a.example/app").unwrap_err();
            assert!(error.contains(part), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        };
        check("hunter2", "not JSON");
        check(r#"{"auths": "hunter2"}"#, "wrong type");
        check(
            r#"{"auths": {"a.example": {"auth": "hunter2"#,
            "ends in the middle",
        );
        check(r#"{"auths": {"a.example": {"auth": "hunter2"}}}"#, "base64");
        check(
            r#"{"auths": {"a.example": {"auth": "aHVudGVyMg=="}}}"#,
            "colon",
        );
        check(
            r#"{"auths": {"a.example": {"username": "hunter2"}}}"#,
            "no password",
        );
        check(&" ".repeat(MAX_CONFIG + 1), "larger");
    }

    #[test]
    fn empty_configs_have_no_login() {
        for document in [
            "{}",
            r#"{"auths": null}"#,
            r#"{"auths": {"a.example": {}}}"#,
        ] {
            assert_eq!(find(document, "a.example/app"), Ok(None), "{document}");
        }
    }
}
