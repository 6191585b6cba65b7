use crate::Body;
use crate::origin::shown;
use executor_core::job::SecretString;
use std::fmt;
use url::Url;

/// A request to send.
#[derive(Clone)]
pub struct Request {
    /// The method, with its body.
    pub method: Method,
    /// The address.
    pub url: Url,
    /// The sender's credential; only the server of `url` receives it.
    pub credential: Option<Credential>,
    /// The state that the caller has, as [`Response::etag`](crate::Response::etag) named it; if it is current, the
    /// server responds with 304.
    pub etag: Option<String>,
    /// The media types that the caller understands, as an `Accept` header; `None` accepts all.
    pub accept: Option<String>,
    /// Further headers; only the server of `url` receives them.
    pub headers: Vec<(&'static str, String)>,
}

/// A header that authenticates the sender to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The header's name, such as `private-token`.
    pub header: &'static str,
    /// The header's value.
    pub value: SecretString,
}

/// An HTTP method, with its body.
#[derive(Clone, PartialEq, Eq)]
pub enum Method {
    /// Reads a resource.
    Get,
    /// Reads the headers of a resource, without its body.
    Head,
    /// Posts a JSON text to read the result. It changes nothing, so it can be sent again.
    PostJson(String),
    /// Posts a body. The server must tolerate receiving it twice, as a response may be lost.
    Post(Body),
    /// Stores a body at the address. The server may receive it twice.
    Put(Body),
    /// Changes a resource by a body. The server may receive it twice.
    Patch(Body),
    /// Removes a resource that the address and a body name. The server may receive it twice.
    Delete(Body),
}

#[cfg(feature = "client")]
impl Method {
    /// Returns the body, except for that of `PostJson`.
    pub(crate) fn body(&self) -> Option<&Body> {
        match self {
            Self::Post(body) | Self::Put(body) | Self::Patch(body) | Self::Delete(body) => {
                Some(body)
            }
            Self::Get | Self::Head | Self::PostJson(_) => None,
        }
    }
}

impl Request {
    /// Returns a `GET` request for `url`.
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::Get,
            url,
            credential: None,
            etag: None,
            accept: None,
            headers: Vec::new(),
        }
    }
}

/// Shows the address without the parts that may be secret.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &shown(&self.url))
            .field("credential", &self.credential)
            .field("etag", &self.etag)
            .field("accept", &self.accept)
            .finish_non_exhaustive()
    }
}

/// Shows the length of a body, and not its content.
impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get => f.write_str("Get"),
            Self::Head => f.write_str("Head"),
            Self::Post(body) => write!(f, "Post({body:?})"),
            Self::Put(body) => write!(f, "Put({body:?})"),
            Self::Patch(body) => write!(f, "Patch({body:?})"),
            Self::Delete(body) => write!(f, "Delete({body:?})"),
            Self::PostJson(json) => write!(f, "PostJson({} bytes)", json.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_secrets() {
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
