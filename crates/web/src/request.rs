use crate::origin::shown;
use crate::{Body, Credential};
use std::fmt;
use url::Url;

/// A request that is to be sent.
#[derive(Clone)]
pub struct Request {
    /// What is wanted of the server.
    pub method: Method,
    /// Of what.
    pub url: Url,
    /// Who asks; only the server of `url` is told.
    pub credential: Option<Credential>,
    /// What the caller has already, as [`Response::etag`](crate::Response::etag) named it; a server then answers 304.
    pub etag: Option<String>,
    /// Which kinds of answer the caller understands, as an `Accept` header; all where it is none.
    pub accept: Option<String>,
}

/// What is wanted of a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Method {
    /// To read something.
    Get,
    /// To read what is known of something, without the thing itself.
    Head,
    /// To read what becomes of a JSON text; nothing is changed by it, so it can be sent again.
    PostJson(String),
    /// To take something. The server must not mind to be sent it twice, as an answer may be lost.
    Post(Body),
    /// To have something under this address. The server may be sent it twice.
    Put(Body),
}

impl Request {
    /// Returns a request to read what is at `url`.
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::Get,
            url,
            credential: None,
            etag: None,
            accept: None,
        }
    }
}

/// Shows the address without what may be secret in it.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &shown(&self.url))
            .field("credential", &self.credential)
            .field("etag", &self.etag)
            .field("accept", &self.accept)
            .finish()
    }
}

/// Shows how much is posted, and not what.
impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get => f.write_str("Get"),
            Self::Head => f.write_str("Head"),
            Self::Post(body) => write!(f, "Post({body:?})"),
            Self::Put(body) => write!(f, "Put({body:?})"),
            Self::PostJson(json) => write!(f, "PostJson({} bytes)", json.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::SecretString;

    #[test]
    fn nothing_secret_is_shown() {
        let url = "https://me:secret@gitlab.example:8443/a/b?token=secret#secret";
        let request = Request {
            method: Method::PostJson("secret".to_owned()),
            credential: Some(Credential {
                header: "private-token",
                value: SecretString::new("secret"),
            }),
            ..Request::get(Url::parse(url).expect("an address"))
        };
        let shown = format!("{request:?}");
        assert!(!shown.contains("secret"), "{shown}");
        assert!(
            shown.contains("\"https://gitlab.example:8443/a/b\""),
            "{shown}"
        );
    }
}
