use crate::Credential;
use url::Url;

/// A request that is to be sent.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is wanted of the server.
    pub method: Method,
    /// Of what.
    pub url: Url,
    /// Who asks; only the server of `url` is told.
    pub credential: Option<Credential>,
    /// What the caller has already, as [`Response::etag`] named it; a server then answers 304.
    pub etag: Option<String>,
}

/// What is wanted of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// To read something.
    Get,
    /// To read what becomes of a JSON text; nothing is changed by it, so it can be sent again.
    PostJson(String),
}

impl Request {
    /// Returns a request to read what is at `url`.
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::Get,
            url,
            credential: None,
            etag: None,
        }
    }
}
