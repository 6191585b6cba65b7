use crate::origin::shown;
use std::fmt;
use url::Url;

/// A server's response, whatever its status.
#[derive(Clone)]
pub struct Response {
    /// The status, such as 200 or 404.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
    /// The address that responded, after all redirects.
    pub url: Url,
    pub(crate) headers: Vec<(String, String)>,
}

impl Response {
    /// Returns the value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the `ETag` of this state of the resource, for [`Request::etag`](crate::Request::etag).
    pub fn etag(&self) -> Option<&str> {
        self.header("etag")
    }
}

/// Shows the length of the body, and not its content.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .field("url", &shown(&self.url))
            .finish_non_exhaustive()
    }
}
