use crate::{Method, Origin, Request, Response, WebError, WebOptions};
use std::sync::Arc;

/// Sends requests; clones share their connections.
#[derive(Debug, Clone)]
pub struct Web {
    client: reqwest::Client,
    options: Arc<WebOptions>,
}

impl Web {
    /// Returns one that follows these rules.
    ///
    /// # Errors
    ///
    /// When a file with certificates cannot be read, or a proxy is none.
    pub fn new(options: WebOptions) -> Result<Self, WebError> {
        // There is one provider in this program, whoever installs it first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(options.limits.deadline)
            .build()
            .map_err(|error| WebError::Setup(error.to_string()))?;
        Ok(Self {
            client,
            options: Arc::new(options),
        })
    }

    /// Sends a request and returns the answer, whatever its status.
    ///
    /// # Errors
    ///
    /// When the rules refuse a server, or there is no whole answer within the limits.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the request.
    pub async fn send(&self, request: &Request) -> Result<Response, WebError> {
        let server = Origin::of(&request.url)
            .ok_or_else(|| WebError::Address("only https addresses can be asked".to_owned()))?;
        let unreachable = |error: reqwest::Error| WebError::Unreachable {
            server: server.clone(),
            reason: error.without_url().to_string(),
        };
        let mut sent = match &request.method {
            Method::Get => self.client.get(request.url.clone()),
            Method::PostJson(json) => self
                .client
                .post(request.url.clone())
                .header("content-type", "application/json")
                .body(json.clone()),
        };
        if let Some(credential) = &request.credential {
            sent = sent.header(credential.header, credential.value.expose());
        }
        if let Some(etag) = &request.etag {
            sent = sent.header("if-none-match", etag);
        }
        let answer = sent.send().await.map_err(unreachable)?;
        let (status, url) = (answer.status().as_u16(), answer.url().clone());
        let headers = answer.headers().clone();
        let body = answer.bytes().await.map_err(unreachable)?;
        if body.len() > self.options.limits.bytes {
            return Err(WebError::TooLong(self.options.limits.bytes));
        }
        Ok(Response {
            status,
            body: body.into(),
            url,
            headers,
        })
    }
}
