use crate::origin::shown;
use reqwest::header::HeaderMap;
use std::fmt;
use url::Url;

/// What a server answered, whatever its status.
#[derive(Clone)]
pub struct Response {
    /// The status: 200, 404.
    pub status: u16,
    /// The body, whole.
    pub body: Vec<u8>,
    /// Where it came from in the end.
    pub url: Url,
    pub(crate) headers: HeaderMap,
}

impl Response {
    /// Returns a header's value, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns what names this state of the thing, for [`Request::etag`](crate::Request::etag).
    pub fn etag(&self) -> Option<&str> {
        self.header("etag")
    }
}

/// Shows how long the answer is, and not what is in it.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .field("url", &shown(&self.url))
            .finish_non_exhaustive()
    }
}
