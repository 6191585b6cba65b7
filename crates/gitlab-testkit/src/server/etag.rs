use crate::Request;
use crate::answer::Answer;
use sha2::{Digest as _, Sha256};

/// Adds an `ETag` to a response, or returns 304 when the request names the same one.
pub(super) fn conditional(request: &Request, answer: Answer) -> Answer {
    let reads = matches!(request.method.as_str(), "GET" | "HEAD");
    if !reads || answer.status != 200 {
        return answer;
    }
    let mut headers = answer.headers.iter();
    let own = headers.find(|(known, _)| known.eq_ignore_ascii_case("etag"));
    let own = own.map(|(_, etag)| etag.clone());
    let etag = own.clone().unwrap_or_else(|| weak(&answer.body));
    let answer = if own.is_some() {
        answer
    } else {
        answer.header("etag", &etag)
    };
    let known = request.header("if-none-match").unwrap_or_default();
    if known.split(',').any(|it| it.trim() == etag) {
        return Answer {
            status: 304,
            headers: vec![("etag".to_owned(), etag)],
            body: Vec::new(),
        };
    }
    answer
}

fn weak(body: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = "W/\"".to_owned();
    for byte in &Sha256::digest(body)[..16] {
        let _ = write!(text, "{byte:02x}");
    }
    text + "\""
}
