use reqwest::header::HeaderMap;
use url::Url;

/// What a server answered, whatever its status.
#[derive(Debug, Clone)]
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
