use crate::{Limits, Request, Response, WebError, WebOptions};
use std::convert::Infallible;

/// Refuses each request: this build has no HTTP client.
#[derive(Debug, Clone)]
pub struct Web {}

#[expect(
    clippy::unused_async,
    clippy::missing_errors_doc,
    reason = "the functions of the `Web` that sends requests"
)]
impl Web {
    /// Returns a `Web` that refuses each request.
    pub fn new(_: WebOptions) -> Result<Self, WebError> {
        Ok(Self {})
    }

    /// Returns a `Web` that refuses each request.
    #[must_use]
    pub fn with_limits(&self, _: Limits) -> Self {
        self.clone()
    }

    /// Fails with [`WebError::NoClient`].
    pub async fn send(&self, _: &Request) -> Result<Response, WebError> {
        Err(WebError::NoClient)
    }

    /// Fails with [`WebError::NoClient`].
    pub async fn open(&self, _: &Request) -> Result<Incoming, WebError> {
        Err(WebError::NoClient)
    }
}

/// A response, of which this build has none.
#[derive(Debug)]
pub struct Incoming {
    /// The status.
    pub status: u16,
    never: Infallible,
}

#[expect(
    clippy::unused_async,
    clippy::missing_errors_doc,
    reason = "the function of the `Incoming` that receives responses"
)]
impl Incoming {
    /// Is never called.
    pub fn text_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }

    /// Is never called.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, WebError> {
        match self.never {}
    }
}

/// Returns true: only a build that sends requests checks the hosts of [`Reach`](crate::Reach).
pub fn names_hosts(_: &str) -> bool {
    true
}
