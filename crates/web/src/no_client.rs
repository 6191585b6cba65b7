use crate::{Limits, Request, Response, WebError, WebOptions};

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
}

/// Returns true: only a build that sends requests checks the hosts of [`Reach`](crate::Reach).
pub fn names_hosts(_: &str) -> bool {
    true
}
