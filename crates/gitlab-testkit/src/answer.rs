use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

/// A response of the server before it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Returns a response whose body has the content type `kind`.
    pub(crate) fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body: body.into(),
        }
    }

    pub(crate) fn json(value: &Value) -> Self {
        Self::new(200, "application/json", value.to_string())
    }

    pub(crate) fn text(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/plain; charset=utf-8", body)
    }

    /// Returns the body GitLab sends when it refuses a request: `{"message":"404 Project Not Found"}`.
    pub(crate) fn message(status: u16, message: &str) -> Self {
        let body = json!({ "message": message }).to_string();
        Self::new(status, "application/json", body)
    }

    /// Returns the error of Grape, GitLab's API framework, for a request that it cannot parse.
    pub(crate) fn error(status: u16, error: &str) -> Self {
        let body = json!({ "error": error }).to_string();
        Self::new(status, "application/json", body)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::message(404, &format!("404 {what} Not Found"))
    }

    pub(crate) fn unauthorized() -> Self {
        Self::message(401, "401 Unauthorized")
    }

    pub(crate) fn forbidden() -> Self {
        Self::message(403, "403 Forbidden")
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self::new(302, "text/html", "redirected").header("location", to)
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Converts this into the response to send; `body` replaces its own body.
    pub(crate) fn into_response(self, body: Option<Body>) -> Response<Body> {
        let body = body.unwrap_or_else(|| Body::from(self.body));
        let mut response = Response::new(body);
        *response.status_mut() =
            StatusCode::from_u16(self.status).expect("tests name statuses that there are");
        for (name, value) in self.headers {
            let name = HeaderName::try_from(name).expect("tests name headers that there are");
            let value = HeaderValue::try_from(value).expect("tests give headers one line");
            response.headers_mut().append(name, value);
        }
        response
    }
}
