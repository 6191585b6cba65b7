use crate::engine::connector::Connector;
use crate::engine::version::ApiVersion;
use bollard::BollardRequest;
use bollard::errors::Error;
use hyper::header::HeaderValue;
use hyper::{Response, Uri, body::Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::error::Error as _;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

type Body = http_body_util::Either<
    http_body_util::Full<hyper::body::Bytes>,
    http_body_util::StreamBody<
        std::pin::Pin<
            Box<
                dyn futures_util::Stream<
                        Item = Result<hyper::body::Frame<hyper::body::Bytes>, io::Error>,
                    > + Send,
            >,
        >,
    >,
>;

/// Sends the requests of `bollard` to the engine.
#[derive(Clone)]
pub(crate) struct Transport {
    client: Client<Connector, Body>,
    version: Arc<OnceLock<ApiVersion>>,
}

impl Transport {
    pub(crate) fn new(connector: Connector) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            // A restarted engine, or a proxy, closes older connections.
            .pool_idle_timeout(Duration::from_secs(20))
            .pool_max_idle_per_host(4)
            .build(connector);
        Self {
            client,
            version: Arc::default(),
        }
    }

    /// Sets the version of all later requests.
    pub(crate) fn set_version(&self, version: ApiVersion) {
        // Negotiated once; a second call would set the same.
        let _ = self.version.set(version);
    }

    /// Sends a request with the corrections below.
    pub(crate) async fn send(
        &self,
        mut request: BollardRequest,
    ) -> Result<Response<Incoming>, Error> {
        if let Some(version) = self.version.get()
            && let Some(uri) = with_version(request.uri(), *version)
        {
            *request.uri_mut() = uri;
        }
        if let Some(value) = request.headers_mut().get_mut("x-registry-auth")
            && let Some(safe) = url_safe(value)
        {
            *value = safe;
        }
        self.client.request(request).await.map_err(io_cause)
    }
}

/// Returns the URI with the version before its path, which `bollard` drops.
///
/// Without it, the engine uses its newest version, whose responses may be unknown.
fn with_version(uri: &Uri, version: ApiVersion) -> Option<Uri> {
    let path = uri.path_and_query()?.as_str();
    if path.starts_with("/v1.") {
        return None;
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(format!("/v{version}{path}").parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// Returns the header in the URL-safe alphabet that the engine reads.
///
/// `bollard` writes `+` and `/`. An engine that cannot read the header silently ignores the password, which affects
/// passwords with `~`, `?` or `>`.
fn url_safe(value: &HeaderValue) -> Option<HeaderValue> {
    let text = value.to_str().ok()?;
    let safe = text.replace('+', "-").replace('/', "_");
    let mut safe = HeaderValue::from_str(&safe).ok()?;
    safe.set_sensitive(true);
    Some(safe)
}

/// Translates an error into its I/O cause, if there is one.
fn io_cause(error: hyper_util::client::legacy::Error) -> Error {
    let mut cause = error.source();
    while let Some(found) = cause {
        if let Some(io) = found.downcast_ref::<io::Error>() {
            let err = match io.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(io.kind(), io.to_string()),
            };
            return Error::IOError { err };
        }
        cause = found.source();
    }
    Error::HyperLegacyError { err: error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_the_version_once() {
        let version = ApiVersion::parse("1.44").unwrap();
        let check = |given: &str, expected: Option<&str>| {
            let found = with_version(&given.parse().unwrap(), version);
            assert_eq!(found.map(|uri| uri.to_string()).as_deref(), expected);
        };
        check(
            "http://engine/images/json?all=1",
            Some("http://engine/v1.44/images/json?all=1"),
        );
        check("http://engine/v1.41/info", None);
        check(
            "http://engine/volumes/v1",
            Some("http://engine/v1.44/volumes/v1"),
        );
    }

    #[test]
    fn the_header_of_a_login_is_url_safe() {
        let found = url_safe(&HeaderValue::from_static("ab+/==")).unwrap();
        assert_eq!(found.to_str().unwrap(), "ab-_==");
        assert!(found.is_sensitive());
    }
}
