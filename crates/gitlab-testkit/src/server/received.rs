use crate::Request;
use axum::body::Body;
use axum::http;

/// The body limit, above that of any request in the tests.
const LONGEST: usize = 256 << 20;

/// A request as it arrived.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) request: Request,
    /// Whether the whole body arrived; if not, the recorded body is empty.
    pub(crate) is_whole: bool,
}

/// Reads a request to its end.
pub(crate) async fn receive(request: http::Request<Body>) -> Received {
    let (head, body) = request.into_parts();
    let headers = head.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        (name.as_str().to_owned(), value.into_owned())
    });
    let body = axum::body::to_bytes(body, LONGEST).await;
    Received {
        is_whole: body.is_ok(),
        request: Request {
            method: head.method.as_str().to_owned(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: headers.collect(),
            body: body.unwrap_or_default().to_vec(),
            status: None,
        },
    }
}
