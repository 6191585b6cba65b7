use super::refused;
use executor_core::job::SecretString;
use job_runner::SecretError;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;
use tokio::sync::Mutex;
use web::{Limits, Method, Origin, Request, Response, Web, WebError};

/// How long one call may take.
const CALL: Duration = Duration::from_secs(30);

/// The largest answer, in bytes.
const LARGEST: usize = 4 << 20;

/// The longest explanation of a server that is shown, in characters.
const LONGEST_REASON: usize = 400;

/// Calls the servers of secret stores for one job.
pub(super) struct Client {
    web: Web,
    /// The access tokens, by the logins that brought them.
    tokens: Mutex<HashMap<String, SecretString>>,
}

/// A request for an access token.
pub(super) struct Login {
    pub(super) request: Request,
    /// Finds the token in the answer.
    pub(super) token_of: fn(&[u8]) -> Option<String>,
    /// The ID token with which the job identifies itself.
    pub(super) jwt: String,
    /// What else distinguishes this login from others at the same address.
    pub(super) key: String,
}

impl Client {
    pub(super) fn new(web: &Web) -> Self {
        let limits = Limits {
            deadline: CALL,
            overall: CALL,
            // Tokens are for the server that the definition names.
            redirects: 0,
            bytes: LARGEST,
            attempts: 1,
            ..Limits::default()
        };
        Self {
            web: web.with_limits(limits),
            tokens: Mutex::default(),
        }
    }

    /// Returns the access token of a login, which is sent once.
    pub(super) async fn log_in(&self, login: Login) -> Result<SecretString, SecretError> {
        let Login {
            request,
            token_of,
            jwt,
            key,
        } = login;
        let key = format!("{} {key} {jwt}", request.url);
        // Held while the login runs: another one with the same key waits for its token.
        let mut tokens = self.tokens.lock().await;
        if let Some(token) = tokens.get(&key) {
            return Ok(token.clone());
        }
        let response = self.send(&request).await?;
        if !is_success(&response) {
            return Err(failed("the login failed: ", &response, &[&jwt]));
        }
        let token = token_of(&response.body);
        let token = token.filter(|it| !it.is_empty()).ok_or_else(|| {
            let server = server(&response);
            refused(format!("{server} answered a login without a token"))
        })?;
        let token = SecretString::new(token);
        tokens.insert(key, token.clone());
        Ok(token)
    }

    /// Returns the answer to a request with these access tokens; `None` if the server does not have it.
    pub(super) async fn read(
        &self,
        request: &Request,
        tokens: &[&str],
    ) -> Result<Option<Value>, SecretError> {
        let response = self.send(request).await?;
        if response.status == 404 || is_absent_in_aws(&response) {
            return Ok(None);
        }
        if !is_success(&response) {
            return Err(failed("", &response, tokens));
        }
        json(&response).map(Some)
    }

    async fn send(&self, request: &Request) -> Result<Response, SecretError> {
        let sent = self.web.send(request).await;
        sent.map_err(|error| match (&error, Origin::of(&request.url)) {
            (WebError::Redirects(_) | WebError::Moved { .. }, Some(server)) => refused(format!(
                "{server} redirects to another address; name that one"
            )),
            (WebError::Late { .. } | WebError::Unreachable { .. }, _) => {
                SecretError::Unavailable(error.to_string())
            }
            _ => refused(error.to_string()),
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Returns a request whose body is JSON.
pub(super) fn post_json(url: web::Url, body: &Value) -> Request {
    Request {
        method: Method::PostJson(body.to_string()),
        ..Request::get(url)
    }
}

/// Returns a request with an access token.
pub(super) fn get_with(url: web::Url, header: &'static str, value: String) -> Request {
    let credential = web::Credential {
        header,
        value: value.into(),
    };
    Request {
        credential: Some(credential),
        ..Request::get(url)
    }
}

/// Returns a text of a JSON answer.
pub(super) fn text_at(answer: &[u8], pointer: &str) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    answer.pointer(pointer)?.as_str().map(str::to_owned)
}

fn is_absent_in_aws(response: &Response) -> bool {
    let kind = text_at(&response.body, "/__type");
    response.status == 400 && kind.is_some_and(|it| it.ends_with("ResourceNotFoundException"))
}

/// Returns whether AWS has too many requests, or its login cannot reach GitLab: the status is 400 then.
fn is_busy_aws(response: &Response) -> bool {
    let text = String::from_utf8_lossy(&response.body);
    let code = text_at(&response.body, "/__type");
    let code = code.or_else(|| Some(between(&text, "<Code>", "</Code>")?.to_owned()));
    code.is_some_and(|it| it.contains("Throttl") || it == "IDPCommunicationError")
}

fn between<'t>(text: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    let (_, text) = text.split_once(begin)?;
    Some(text.split_once(end)?.0)
}

fn is_success(response: &Response) -> bool {
    (200..300).contains(&response.status)
}

fn server(response: &Response) -> String {
    Origin::of(&response.url).map_or_else(String::new, |it| it.to_string())
}

fn json(response: &Response) -> Result<Value, SecretError> {
    serde_json::from_slice(&response.body)
        .map_err(|_| refused(format!("the answer of {} is not JSON", server(response))))
}

/// Returns the error of an answer that is no success, without the tokens of its request.
fn failed(what: &str, response: &Response, tokens: &[&str]) -> SecretError {
    let status = response.status;
    let mut text = format!("{what}{} answers {status}", server(response));
    if let Some(reason) = reason(response) {
        let masked = tokens.iter().filter(|token| !token.is_empty());
        let reason = masked.fold(reason, |reason, token| reason.replace(token, "[MASKED]"));
        let reason = reason
            .chars()
            .map(|it| if it.is_control() { ' ' } else { it });
        let reason: String = reason.take(LONGEST_REASON).collect();
        text = format!("{text}: {}", reason.trim());
    }
    match status {
        // 412: a standby server of Vault does not have the newest state yet.
        408 | 412 | 429 | 500.. => SecretError::Unavailable(text),
        400 if is_busy_aws(response) => SecretError::Unavailable(text),
        _ => refused(text),
    }
}

/// Returns the explanation of Vault, Google, Microsoft or AWS, whose logins answer in XML.
fn reason(response: &Response) -> Option<String> {
    let Ok(answer) = serde_json::from_slice::<Value>(&response.body) else {
        let text = String::from_utf8_lossy(&response.body);
        return Some(between(&text, "<Message>", "</Message>")?.to_owned());
    };
    if let Some(errors) = answer["errors"].as_array() {
        let errors: Vec<&str> = errors.iter().filter_map(Value::as_str).collect();
        return Some(errors.join("; ")).filter(|text| !text.is_empty());
    }
    let texts = [
        "/error_description",
        "/error/message",
        "/error",
        "/message",
        "/Message",
    ];
    let mut texts = texts.iter().filter_map(|at| answer.pointer(at)?.as_str());
    texts.next().map(str::to_owned)
}
