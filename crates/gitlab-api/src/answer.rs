//! Interprets a server's response.

use crate::{ApiError, Fault, RequestContext, Thing, TokenMatter};
use serde_json::Value;
use std::time::Duration;
use web::{Origin, Request, Response, Url};

/// A value that may have changed since it was last requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fresh<T> {
    /// The value did not change.
    Unchanged,
    /// The value as it is now.
    New {
        /// The value.
        value: T,
        /// The etag of this state; `None` when no single etag covers all of it.
        etag: Option<String>,
    },
}

/// The parts of a response that decide its meaning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
    /// The address that responded, after all redirects.
    pub(crate) url: &'a Url,
    pub(crate) content_type: &'a str,
    pub(crate) retry_after: Option<&'a str>,
    /// Whether the request named the state that the caller has.
    pub(crate) is_conditional: bool,
    /// The token that was sent, which must not be shown even if the server repeats it.
    pub(crate) secret: Option<&'a str>,
}

impl<'a> Parts<'a> {
    pub(crate) fn of(request: &'a Request, response: &'a Response) -> Self {
        let credential = request.credential.as_ref();
        Self {
            status: response.status,
            body: &response.body,
            url: &response.url,
            content_type: response.header("content-type").unwrap_or_default(),
            retry_after: response.header("retry-after"),
            is_conditional: request.etag.is_some(),
            secret: credential.map(|it| it.value.expose()),
        }
    }

    /// Returns whether the response is an HTML page.
    pub(crate) fn is_page(&self) -> bool {
        let essence = self.content_type.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("text/html")
    }
}

/// Decides whether a response is what was requested: its body, or that nothing changed.
pub(crate) fn judge(context: &RequestContext, parts: &Parts<'_>) -> Result<(), ApiError> {
    let bad = |fault| ApiError::BadAnswer {
        instance: Box::new(context.instance.clone()),
        fault,
    };
    // A server reached by a redirect receives no token, and must not answer in place of the GitLab.
    match Origin::of(parts.url) {
        Some(origin) if origin == *context.instance.origin() => {}
        Some(origin) => return Err(bad(Fault::Elsewhere(origin))),
        None => return Err(bad(Fault::Nonsense("a redirect to nowhere"))),
    }
    if parts.url.path().contains("/users/sign_in") || parts.url.path().contains("/users/auth/") {
        return Err(bad(Fault::SignIn));
    }
    let whole = || Box::new(context.clone());
    let said = Said::read(parts.body);
    match parts.status {
        200..=299 if parts.is_page() => Err(bad(Fault::Page)),
        200..=299 => Ok(()),
        304 if parts.is_conditional => Ok(()),
        304 => Err(bad(Fault::Nonsense(
            "that nothing changed, which was not requested",
        ))),
        401 => Err(ApiError::Unauthorized {
            context: whole(),
            matter: said.matter(),
        }),
        403 => Err(ApiError::Forbidden {
            context: whole(),
            scopes: said.scopes(parts.secret),
            said: said.message(parts.secret),
        }),
        // GitLab's own 404 names the missing thing; another server at this address sends one without a message.
        404 if said.is_silent() => Err(bad(Fault::Page)),
        404 => Err(ApiError::NotFound {
            context: whole(),
            missing: said.missing(),
        }),
        429 => Err(ApiError::RateLimited {
            context: whole(),
            wait: parts
                .retry_after
                .and_then(|it| it.parse().ok())
                .map(Duration::from_secs),
        }),
        status @ 500.. => Err(ApiError::Server {
            instance: Box::new(context.instance.clone()),
            status,
        }),
        status => Err(ApiError::Rejected {
            context: whole(),
            status,
            said: said.message(parts.secret),
        }),
    }
}

/// GitLab's description of an error.
#[derive(Debug, Default)]
struct Said {
    words: Vec<String>,
    scope: String,
}

impl Said {
    fn read(body: &[u8]) -> Self {
        let Ok(Value::Object(map)) = serde_json::from_slice(body) else {
            return Self::default();
        };
        let texts = ["message", "error_description", "error"].map(|key| map.get(key));
        let words = texts.into_iter().flatten().map(text);
        Self {
            words: words.collect(),
            scope: map.get("scope").map(text).unwrap_or_default(),
        }
    }

    fn is_silent(&self) -> bool {
        self.words.is_empty()
    }

    fn says(&self, word: &str) -> bool {
        self.words
            .iter()
            .any(|text| text.to_lowercase().contains(word))
    }

    fn matter(&self) -> TokenMatter {
        match () {
            () if self.says("revoked") => TokenMatter::Revoked,
            () if self.says("expired") => TokenMatter::Expired,
            () => TokenMatter::Unsaid,
        }
    }

    fn missing(&self) -> Thing {
        match () {
            () if self.says("project not found") => Thing::Project,
            () if self.says("group not found") => Thing::Group,
            () if ["commit", "branch", "tag", "revision", "reference"]
                .iter()
                .any(|it| self.says(it)) =>
            {
                Thing::Reference
            }
            () if ["file", "tree", "path"].iter().any(|it| self.says(it)) => Thing::File,
            () => Thing::Other,
        }
    }

    /// Returns the scopes of which the request needs one.
    fn scopes(&self, secret: Option<&str>) -> Vec<String> {
        let is_scope = |word: &&str| {
            word.len() <= 40 && word.bytes().all(|it| it.is_ascii_lowercase() || it == b'_')
        };
        let words = self.scope.split([' ', ',']).filter(|word| !word.is_empty());
        let words = words
            .filter(is_scope)
            .filter(|word| !gives_back(word, secret));
        words.take(8).map(str::to_owned).collect()
    }

    /// Returns the first message, as far as it is safe to show.
    fn message(&self, secret: Option<&str>) -> Option<String> {
        let text = self.words.first()?;
        if gives_back(text, secret) {
            return None;
        }
        let shown: String = text
            .chars()
            .filter(|it| !it.is_control())
            .take(200)
            .collect();
        (!shown.trim().is_empty()).then(|| shown.trim().to_owned())
    }
}

/// Returns a value as text; lists are joined.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(text).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Returns whether a server's message contains the secret that it received.
fn gives_back(words: &str, secret: Option<&str>) -> bool {
    let secret = secret.map(|it| it.strip_prefix("Bearer ").unwrap_or(it));
    secret.is_some_and(|secret| !secret.is_empty() && words.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Instance, TokenKind};
    use proptest::prelude::*;

    fn context() -> RequestContext {
        RequestContext {
            instance: Instance::parse("https://h/git").expect("an address"),
            token: Some((TokenKind::Access, "`GITLAB_TOKEN`".to_owned())),
            places: Vec::new(),
            what: "the project `g/p`".to_owned(),
            needs: None,
            scope: "read_api",
        }
    }

    /// Interprets a response of the API, and returns the error's variant with its deciding fields.
    fn judged(status: u16, body: &str) -> String {
        at(
            "https://h/git/api/v4/x",
            status,
            "application/json",
            body,
            false,
        )
    }

    fn at(url: &str, status: u16, content_type: &str, body: &str, is_conditional: bool) -> String {
        let parts = Parts {
            status,
            body: body.as_bytes(),
            url: &Url::parse(url).expect("an address"),
            content_type,
            retry_after: Some("7"),
            is_conditional,
            secret: Some("glpat-1"),
        };
        match judge(&context(), &parts) {
            Ok(()) => "good".to_owned(),
            Err(ApiError::Unauthorized { matter, .. }) => format!("{matter:?}"),
            Err(ApiError::Forbidden { scopes, said, .. }) => {
                format!("{} | {}", scopes.join(" "), said.unwrap_or_default())
            }
            Err(ApiError::NotFound { missing, .. }) => format!("no {missing:?}"),
            Err(ApiError::Rejected { status, said, .. }) => {
                format!("{status} | {}", said.unwrap_or_default())
            }
            Err(ApiError::RateLimited { wait, .. }) => format!("wait {wait:?}"),
            Err(ApiError::Server { status, .. }) => format!("broken {status}"),
            Err(ApiError::BadAnswer { fault, .. }) => format!("{fault:?}"),
            Err(other) => format!("unexpected {other:?}"),
        }
    }

    #[test]
    fn refused_token_is_explained_by_gitlabs_message() {
        let check = |body: &str, expect| assert_eq!(judged(401, body), expect, "{body}");
        check(r#"{"message":"401 Unauthorized"}"#, "Unsaid");
        check(
            r#"{"error":"invalid_token","error_description":"Token is expired. You can either do re-authorization or token refresh."}"#,
            "Expired",
        );
        check(
            r#"{"error":"invalid_token","error_description":"Token was revoked. You have to re-authorize from the user."}"#,
            "Revoked",
        );
        check("", "Unsaid");
        check("<html>", "Unsaid");
    }

    #[test]
    fn insufficient_token_is_reported_with_scopes() {
        let check = |body: &str, expect| assert_eq!(judged(403, body), expect, "{body}");
        check(
            r#"{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"api read_api"}"#,
            "api read_api | The request requires higher privileges than provided by the access token.",
        );
        check(r#"{"message":"403 Forbidden"}"#, " | 403 Forbidden");
        check(r#"{"message":"a\u001b[2Jb"}"#, " | a[2Jb");
        check(r#"{"message":"your token glpat-1 is bad"}"#, " | ");
        check(
            r#"{"error":"x","scope":"api <script> read_api"}"#,
            "api read_api | x",
        );
        check(
            r#"{"error":"x","scope":["api","read_api"]}"#,
            "api read_api | x",
        );
        let endless = format!(r#"{{"error":"x","scope":"api {}"}}"#, "a".repeat(41));
        check(&endless, "api | x");
        check("", " | ");
    }

    #[test]
    fn missing_thing_is_taken_from_gitlabs_message() {
        let check = |body: &str, expect| assert_eq!(judged(404, body), expect, "{body}");
        check(r#"{"message":"404 Project Not Found"}"#, "no Project");
        check(r#"{"message":"404 Group Not Found"}"#, "no Group");
        check(r#"{"message":"404 Commit Not Found"}"#, "no Reference");
        check(r#"{"message":"404 Branch Not Found"}"#, "no Reference");
        check(r#"{"message":"404 Tag Not Found"}"#, "no Reference");
        check(
            r#"{"message":"404 invalid revision or path Not Found"}"#,
            "no Reference",
        );
        check(r#"{"message":"404 File Not Found"}"#, "no File");
        check(r#"{"message":"404 Tree Not Found"}"#, "no File");
        check(r#"{"error":"404 Not Found"}"#, "no Other");
        // A server responds, but there is no GitLab API at this address.
        check("<html>404</html>", "Page");
        check("", "Page");
        check("[]", "Page");
    }

    #[test]
    fn other_responses_are_reported_by_status() {
        let check = |status, body: &str, expect| assert_eq!(judged(status, body), expect);
        check(200, "{}", "good");
        check(429, "", "wait Some(7s)");
        check(500, "{}", "broken 500");
        check(503, "<html>", "broken 503");
        check(
            400,
            r#"{"message":{"ref":["is bad"]}}"#,
            r#"400 | {"ref":["is bad"]}"#,
        );
        check(422, r#"{"message":["a", "b"]}"#, "422 | a b");
        check(301, "", "301 | ");
        check(
            304,
            "",
            r#"Nonsense("that nothing changed, which was not requested")"#,
        );
    }

    #[test]
    fn response_must_come_from_the_requested_api() {
        let check = |url: &str, content_type: &str, expect: &str| {
            assert_eq!(at(url, 200, content_type, "{}", true), expect, "{url}");
        };
        check("https://h/git/api/v4/x", "text/plain", "good");
        check("https://h/git/api/v4/y", "application/json", "good");
        check("https://h/git/api/v4/x", "Text/HTML; charset=utf-8", "Page");
        check("https://h/git/users/sign_in", "text/html", "SignIn");
        check("https://h/users/auth/saml", "application/json", "SignIn");
        let elsewhere = |scheme: &str, host: &str, port: u16| {
            format!("Elsewhere(Origin {{ scheme: {scheme:?}, host: {host:?}, port: {port} }})")
        };
        check(
            "https://evil/git/api/v4/x",
            "",
            &elsewhere("https", "evil", 443),
        );
        check("http://h/git/api/v4/x", "", &elsewhere("http", "h", 80));
        check(
            "https://h:444/git/api/v4/x",
            "",
            &elsewhere("https", "h", 444),
        );
        let unchanged = at("https://h/git/api/v4/x", 304, "", "", true);
        assert_eq!(unchanged, "good");
    }

    /// Returns a body that a server may send with an error.
    fn body() -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![
            Just("my_token".to_owned()),
            Just("the token my_token was revoked".to_owned()),
            Just("404 Project Not Found".to_owned()),
            any::<String>(),
        ];
        let said = proptest::collection::hash_map(
            prop_oneof!["message", "error", "error_description", "scope"],
            word,
            0..4,
        );
        let json = said.prop_map(|map| serde_json::to_vec(&map).expect("JSON"));
        prop_oneof![3 => json, 1 => any::<Vec<u8>>()]
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd_and_none_gives_a_token_back(
            status in 100_u16..600,
            body in body(),
            content_type in any::<String>(),
            is_conditional in any::<bool>(),
        ) {
            let parts = Parts {
                status,
                body: &body,
                url: &Url::parse("https://h/git/api/v4/x").expect("an address"),
                content_type: &content_type,
                retry_after: Some(&content_type),
                is_conditional,
                secret: Some("my_token"),
            };
            if let Err(error) = judge(&context(), &parts) {
                let shown = format!("{error} {error:?} {:?}", error.help());
                prop_assert!(!shown.contains("my_token"), "{}", shown);
            }
        }
    }
}
