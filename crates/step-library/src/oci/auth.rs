use super::caller::Caller;
use super::challenge::Challenge;
use super::login::RegistryLogin;
use crate::error::Error;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use executor_core::job::SecretString;
use parking_lot::Mutex;
use serde::Deserialize;
use url::Url;
use url::form_urlencoded::Serializer;
use web::{Body, Content, Credential, Method, Request, Web};

/// The most bytes of an answer with a token.
const LONGEST: usize = 1 << 20;

/// Tells a registry who asks, in the way that it wants.
#[derive(Debug)]
pub(super) struct Auth {
    caller: Caller,
    /// What the registry took at last.
    known: Mutex<Option<SecretString>>,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Auth {
    pub(super) fn new(caller: Caller) -> Self {
        let known = match caller.login() {
            Some(RegistryLogin::RegistryToken(token)) => Some(bearer(token.expose())),
            _ => None,
        };
        Self {
            caller,
            known: Mutex::new(known),
        }
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns what to send with a request, as far as it is known.
    pub(super) fn credential(&self) -> Option<Credential> {
        let known = self.known.lock();
        known.clone().map(credential)
    }

    /// Finds out what to send, after the registry has asked; returns whether it is worth to try again.
    pub(super) async fn answer(
        &self,
        web: &Web,
        registry: &Url,
        header: &str,
        scope: &str,
    ) -> Result<bool, Error> {
        let value = match Challenge::parse(header) {
            Some(Challenge::Basic) => match self.caller.login() {
                Some(RegistryLogin::Password { username, password }) => {
                    Some(basic(username, password))
                }
                _ => None,
            },
            Some(Challenge::Bearer {
                realm,
                service,
                scope: asked,
            }) => {
                // What is asked first is often only to be read, and one token is to do for all.
                let asked = asked.as_deref().filter(|_| !scope.ends_with("push"));
                let question = Question {
                    realm: realm_of(&realm, registry)?,
                    service: service.as_deref(),
                    scope: asked.unwrap_or(scope),
                };
                self.token(web, &question).await?
            }
            None => None,
        };
        let mut known = self.known.lock();
        let is_new = value.is_some() && *known != value;
        *known = value;
        Ok(is_new)
    }

    async fn token(
        &self,
        web: &Web,
        question: &Question<'_>,
    ) -> Result<Option<SecretString>, Error> {
        let request = match self.caller.login() {
            Some(RegistryLogin::IdentityToken(token)) => question.with_token(token),
            Some(RegistryLogin::Password { username, password }) => Request {
                credential: Some(credential(basic(username, password))),
                ..question.plain()
            },
            Some(RegistryLogin::RegistryToken(_)) => return Ok(None),
            None => question.plain(),
        };
        let answer = web.open(&request).await?.read(LONGEST).await?;
        match answer.status {
            200 => {}
            400..=404 => return Ok(None),
            status => {
                return Err(Error::Answer {
                    server: super::registry::server(&question.realm),
                    what: "who is asked for a token".to_owned(),
                    status,
                });
            }
        }
        let read: Result<Token, _> = serde_json::from_slice(&answer.body);
        let token = read.ok().and_then(|it| it.token.or(it.access_token));
        let token = token.ok_or_else(|| Error::Malformed {
            what: super::registry::server(&question.realm),
            why: "what it answers has no token".to_owned(),
        })?;
        Ok(Some(bearer(&token)))
    }
}

/// What somebody who gives tokens is asked.
struct Question<'a> {
    realm: Url,
    service: Option<&'a str>,
    scope: &'a str,
}

impl Question<'_> {
    fn plain(&self) -> Request {
        let mut url = self.realm.clone();
        if let Some(service) = self.service {
            url.query_pairs_mut().append_pair("service", service);
        }
        // Each is a parameter of its own.
        for scope in self.scope.split(' ').filter(|it| !it.is_empty()) {
            url.query_pairs_mut().append_pair("scope", scope);
        }
        Request::get(url)
    }

    fn with_token(&self, token: &SecretString) -> Request {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "refresh_token");
        form.append_pair("refresh_token", token.expose());
        form.append_pair("client_id", "runwright");
        form.append_pair("scope", self.scope);
        if let Some(service) = self.service {
            form.append_pair("service", service);
        }
        let body = Body {
            content_type: "application/x-www-form-urlencoded".to_owned(),
            content: Content::Bytes(form.finish().into_bytes()),
        };
        Request {
            method: Method::Post(body),
            ..Request::get(self.realm.clone())
        }
    }
}

/// Reads where tokens are given. What is secret goes there, so it is encrypted if the registry is.
fn realm_of(realm: &str, registry: &Url) -> Result<Url, Error> {
    let malformed = |why: &str| Error::Malformed {
        what: super::registry::server(registry),
        why: why.to_owned(),
    };
    let url = Url::parse(realm).map_err(|_| malformed("where it gives tokens is no address"))?;
    if url.scheme() == "https" || (url.scheme() == "http" && registry.scheme() == "http") {
        return Ok(url);
    }
    Err(malformed("it gives tokens without encryption"))
}

fn basic(username: &str, password: &SecretString) -> SecretString {
    let pair = format!("{username}:{}", password.expose());
    format!("Basic {}", STANDARD.encode(pair)).into()
}

fn bearer(token: &str) -> SecretString {
    format!("Bearer {token}").into()
}

fn credential(value: SecretString) -> Credential {
    Credential {
        header: "authorization",
        value,
    }
}
