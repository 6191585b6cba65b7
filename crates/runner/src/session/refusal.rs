use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

/// An answer of this server, or of a service.
pub(super) type Answer = Response<Either<Full<Bytes>, Incoming>>;

/// A status and its reason.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) StatusCode, pub(super) &'static str);

impl Refusal {
    pub(super) fn not_found() -> Self {
        Self(StatusCode::NOT_FOUND, "not found")
    }

    pub(super) fn no_environment() -> Self {
        let text = "the job has no environment now";
        Self(StatusCode::SERVICE_UNAVAILABLE, text)
    }

    pub(super) fn too_late() -> Self {
        Self(StatusCode::GATEWAY_TIMEOUT, "the service took too long")
    }

    pub(super) fn answer(self) -> Answer {
        let Self(status, text) = self;
        let mut answer = Response::new(Either::Left(Full::from(format!("{text}\n"))));
        *answer.status_mut() = status;
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
        answer
    }
}
