use super::RegistryError;
use super::caller::Caller;
use super::challenge::Challenge;
use super::error::server;
use crate::{LoginSecret, RegistryLogin};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use executor_core::job::SecretString;
use parking_lot::Mutex;
use serde::Deserialize;
use url::Url;
use url::form_urlencoded::Serializer;
use web::{Body, Content, Credential, Method, Request, Web};

/// The most bytes of a response with a token.
const MAX_RESPONSE: usize = 1 << 20;

/// Authenticates requests, in the way the registry demands.
#[derive(Debug)]
pub(super) struct Auth {
    caller: Caller,
    /// The credential that the registry accepted last.
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
            Some(RegistryLogin {
                secret: LoginSecret::RegistryToken(token),
                ..
            }) => Some(bearer(token.expose())),
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

    /// Returns the credential for a request, as far as it is known.
    pub(super) fn credential(&self) -> Option<Credential> {
        let known = self.known.lock();
        known.clone().map(credential)
    }

    /// Gets a credential for the registry's challenge; returns whether it differs from the last one.
    pub(super) async fn respond(
        &self,
        web: &Web,
        registry: &Url,
        header: &str,
        scope: &str,
    ) -> Result<bool, RegistryError> {
        let value = match Challenge::parse(header) {
            Some(Challenge::Basic) => self.caller.login().and_then(basic),
            Some(Challenge::Bearer {
                realm,
                service,
                scope: demanded,
            }) => {
                // The first challenge is often for reading only, and one token must serve all requests.
                let demanded = demanded.as_deref().filter(|_| !scope.ends_with("push"));
                let request = TokenRequest {
                    realm: realm_of(&realm, registry)?,
                    service: service.as_deref(),
                    scope: demanded.unwrap_or(scope),
                };
                self.token(web, &request).await?
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
        token_request: &TokenRequest<'_>,
    ) -> Result<Option<SecretString>, RegistryError> {
        let request = match self.caller.login() {
            Some(login) => match &login.secret {
                LoginSecret::IdentityToken(token) => token_request.with_token(token),
                LoginSecret::Password(_) => Request {
                    credential: basic(login).map(credential),
                    ..token_request.plain()
                },
                LoginSecret::RegistryToken(_) => return Ok(None),
            },
            None => token_request.plain(),
        };
        let response = web.open(&request).await?.read(MAX_RESPONSE).await?;
        match response.status {
            200 => {}
            400..=404 => return Ok(None),
            status => {
                return Err(RegistryError::Status {
                    server: server(&token_request.realm),
                    what: "a request for a token".to_owned(),
                    status,
                });
            }
        }
        let read: Result<Token, _> = serde_json::from_slice(&response.body);
        let token = read.ok().and_then(|it| it.token.or(it.access_token));
        let no_token =
            || RegistryError::malformed(server(&token_request.realm), "its response has no token");
        let token = token.ok_or_else(no_token)?;
        Ok(Some(bearer(&token)))
    }
}

/// A request to a token server.
struct TokenRequest<'a> {
    realm: Url,
    service: Option<&'a str>,
    scope: &'a str,
}

impl TokenRequest<'_> {
    fn plain(&self) -> Request {
        let mut url = self.realm.clone();
        if let Some(service) = self.service {
            url.query_pairs_mut().append_pair("service", service);
        }
        // Each scope is a parameter of its own.
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

/// Reads the address of the token server. Secrets go there, so it must be encrypted if the registry is.
fn realm_of(realm: &str, registry: &Url) -> Result<Url, RegistryError> {
    let malformed = |reason: &str| RegistryError::malformed(server(registry), reason);
    let url =
        Url::parse(realm).map_err(|_| malformed("the address of its token server is invalid"))?;
    if url.scheme() == "https" || (url.scheme() == "http" && registry.scheme() == "http") {
        return Ok(url);
    }
    Err(malformed("its token server has no encryption"))
}

/// Returns the header for a login with a password.
fn basic(login: &RegistryLogin) -> Option<SecretString> {
    let LoginSecret::Password(password) = &login.secret else {
        return None;
    };
    let pair = format!("{}:{}", login.username, password.expose());
    Some(format!("Basic {}", STANDARD.encode(pair)).into())
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
