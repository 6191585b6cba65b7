use crate::image::credentials::key::{HUB_KEY, RegistryKey};
use crate::image::credentials::login::LoginSecret;
use crate::image::reference::ImageReference;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The most that is read of a document; real ones have a few kilobytes.
pub(crate) const MAX_DOCUMENT: usize = 1 << 20;

/// What a `config.json` of docker, or a `DOCKER_AUTH_CONFIG`, says of credentials.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Document {
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

/// Where the credentials for an image are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Here.
    Login {
        username: String,
        secret: LoginSecret,
    },
    /// A helper of this name has them, under this key.
    Helper { name: String, key: String },
}

impl Document {
    /// Reads a document. The error never shows any of it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_DOCUMENT {
            return Err("it is larger than 1 MiB".to_owned());
        }
        let text = text.trim().trim_start_matches('\u{feff}');
        serde_json::from_str(text).map_err(|error| {
            let what = match error.classify() {
                serde_json::error::Category::Data => {
                    "something is of another kind than it should be"
                }
                serde_json::error::Category::Eof => "it ends in the middle",
                _ => "it is no JSON",
            };
            format!("{what}, line {} column {}", error.line(), error.column())
        })
    }

    /// Returns where the credentials for an image are: the helper for its registry, the longest path,
    /// or else the store for all of them.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong with the entry, without showing it.
    pub(crate) fn find(&self, reference: &ImageReference) -> Result<Option<Found>, String> {
        let helpers = self.cred_helpers.iter().flatten();
        if let Some((key, name)) = best(helpers, reference) {
            let (name, key) = (name.clone(), key.clone());
            return Ok(Some(Found::Helper { name, key }));
        }
        let entry = best(self.auths.iter().flatten(), reference);
        if let Some((key, entry)) = entry
            && let Some((username, secret)) = entry.read().map_err(|what| {
                // The key is a host, nothing secret.
                format!("the entry for {key:?} {what}")
            })?
        {
            return Ok(Some(Found::Login { username, secret }));
        }
        let Some(name) = self.creds_store.clone().filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let key = match (entry, reference.registry()) {
            (Some((key, _)), _) => key.clone(),
            (None, "docker.io") => HUB_KEY.to_owned(),
            (None, registry) => registry.to_owned(),
        };
        Ok(Some(Found::Helper { name, key }))
    }
}

fn best<'a, T>(
    entries: impl Iterator<Item = (&'a String, &'a T)>,
    reference: &ImageReference,
) -> Option<(&'a String, &'a T)> {
    entries
        .filter_map(|(key, value)| Some((RegistryKey::new(key).fit(reference)?, key, value)))
        .max_by_key(|(fit, ..)| *fit)
        .map(|(_, key, value)| (key, value))
}

impl Entry {
    /// Returns name and secret; `None` where the entry is empty because a store has them.
    fn read(&self) -> Result<Option<(String, LoginSecret)>, &'static str> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let mut username = given(&self.username).unwrap_or_default();
        let mut password = given(&self.password);
        if let Some(auth) = given(&self.auth) {
            let pair = STANDARD.decode(auth.trim().trim_end_matches('\0'));
            let pair = pair.map_err(|_| "has an `auth` that is not in base64")?;
            let pair = String::from_utf8(pair).map_err(|_| "has an `auth` that is no text")?;
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
        Ok(Some((username, secret)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(document: &str, image: &str) -> Result<Option<Found>, String> {
        let reference = ImageReference::parse(image).unwrap();
        Document::parse(document)?.find(&reference)
    }

    fn login(document: &str, image: &str, username: &str, secret: LoginSecret) {
        let username = username.to_owned();
        let expected = Found::Login { username, secret };
        assert_eq!(find(document, image), Ok(Some(expected)), "{image}");
    }

    fn password(text: &str) -> LoginSecret {
        LoginSecret::Password(text.into())
    }

    #[test]
    fn the_longest_path_counts() {
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
    fn tokens_are_told_from_passwords() {
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
    fn a_helper_is_asked_for_its_registry_and_the_store_for_the_rest() {
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
    fn an_error_shows_nothing_of_the_document() {
        let check = |document: &str, part: &str| {
            let error = find(document, "a.example/app").unwrap_err();
            assert!(error.contains(part), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        };
        check("hunter2", "no JSON");
        check(r#"{"auths": "hunter2"}"#, "another kind");
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
        check(&" ".repeat(MAX_DOCUMENT + 1), "larger");
    }

    #[test]
    fn what_is_empty_says_nothing() {
        for document in [
            "{}",
            r#"{"auths": null}"#,
            r#"{"auths": {"a.example": {}}}"#,
        ] {
            assert_eq!(find(document, "a.example/app"), Ok(None), "{document}");
        }
    }
}
