use super::login::RegistryLogin;
use super::name::ImageName;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The most that is read; real ones have a few kilobytes.
const LONGEST: usize = 1 << 20;

/// What a `config.json` of docker says of registries. Helpers that it names are not asked: a job chose them.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct DockerConfig {
    auths: BTreeMap<String, Entry>,
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

impl DockerConfig {
    /// Reads a text. The error shows none of it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err("it is longer than 1 MiB".to_owned());
        }
        serde_json::from_str(text.trim()).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("it is no JSON of that kind, line {line} column {column}")
        })
    }

    /// Returns who asks for an image; of several entries the one with the longest path counts.
    pub(super) fn login(&self, image: &ImageName) -> Result<Option<RegistryLogin>, String> {
        let fitting = self.auths.iter().filter_map(|(key, entry)| {
            let fit = fit(key, image)?;
            Some((fit, key, entry))
        });
        let Some((_, key, entry)) = fitting.max_by_key(|(fit, ..)| *fit) else {
            return Ok(None);
        };
        let read = entry.read();
        read.map_err(|why| format!("the entry for {key:?} {why}"))
    }
}

/// Returns how much of an image's name a key names, if it is about it.
fn fit(key: &str, image: &ImageName) -> Option<usize> {
    let bare = key.split_once("://").map_or(key, |(_, rest)| rest);
    let bare = bare.trim_end_matches('/');
    // As docker writes it for a registry, and for its own.
    let bare = bare.strip_suffix("/v1").or(bare.strip_suffix("/v2"));
    let key_path = bare.unwrap_or(key.split_once("://").map_or(key, |(_, rest)| rest));
    let key_path = key_path.trim_end_matches('/');
    let (host, path) = key_path.split_once('/').unwrap_or((key_path, ""));
    let host = match host {
        "index.docker.io" | "registry-1.docker.io" => "docker.io",
        host => host,
    };
    if !host.eq_ignore_ascii_case(&image.registry) {
        return None;
    }
    let rest = image.repository.strip_prefix(path)?;
    (path.is_empty() || rest.is_empty() || rest.starts_with('/')).then_some(path.len())
}

impl Entry {
    fn read(&self) -> Result<Option<RegistryLogin>, &'static str> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(token) = given(&self.registrytoken) {
            return Ok(Some(RegistryLogin::RegistryToken(token.into())));
        }
        if let Some(token) = given(&self.identitytoken) {
            return Ok(Some(RegistryLogin::IdentityToken(token.into())));
        }
        let pair = match given(&self.auth) {
            Some(auth) => {
                let pair = STANDARD.decode(auth.trim().trim_end_matches('\0'));
                let pair = pair.map_err(|_| "has an `auth` that is not in base64")?;
                let pair = String::from_utf8(pair).map_err(|_| "has an `auth` that is no text")?;
                let split = pair.split_once(':');
                let (name, password) =
                    split.ok_or("has an `auth` without a colon between name and password")?;
                Some((name.to_owned(), password.trim_end_matches('\0').to_owned()))
            }
            None => given(&self.username).zip(given(&self.password)),
        };
        Ok(pair.map(|(username, password)| RegistryLogin::Password {
            username,
            password: password.into(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_counts() {
        let config = r#"{"auths": {
            "host.example": {"auth": "YTpvbmU="},
            "https://host.example/team/": {"auth": "Yjp0d286dGhyZWU="},
            "https://index.docker.io/v1/": {"username": "h", "password": "hub"},
            "tokens.example:5000": {"identitytoken": "t"},
            "empty.example": {}
        }, "credsStore": "evil"}"#;
        let config = DockerConfig::parse(config).unwrap();
        let check = |registry: &str, repository: &str, expect: Option<(&str, &str)>| {
            let image = ImageName::parse(registry, repository).unwrap();
            let expect = expect.map(|(name, password)| RegistryLogin::Password {
                username: name.to_owned(),
                password: password.into(),
            });
            assert_eq!(config.login(&image).unwrap(), expect, "{image}");
        };
        check("host.example", "other/app", Some(("a", "one")));
        check("host.example", "team/app", Some(("b", "two:three")));
        check("host.example", "teams/app", Some(("a", "one")));
        check("docker.io", "a/b", Some(("h", "hub")));
        check("empty.example", "a", None);
        check("host.example:5000", "a", None);
        let image = ImageName::parse("tokens.example:5000", "a").unwrap();
        let token = RegistryLogin::IdentityToken("t".into());
        assert_eq!(config.login(&image).unwrap(), Some(token));
    }

    #[test]
    fn an_error_shows_nothing_of_the_text() {
        let image = ImageName::parse("a.example", "app").unwrap();
        for text in [
            "hunter2",
            r#"{"auths": "hunter2"}"#,
            r#"{"auths": {"a.example": {"auth": "hunter2"}}}"#,
            r#"{"auths": {"a.example": {"auth": "aHVudGVyMg=="}}}"#,
        ] {
            let error = DockerConfig::parse(text).and_then(|config| config.login(&image));
            let error = error.unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
