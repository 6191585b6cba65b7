//! Files at any address. GitLab fetches them without credentials, so no token is sent.

use super::errors::refuse_web;
use crate::{Answer, LibraryError};
use web::{Origin, Request, Response, Url, Web};

/// Requests the file at an address.
pub(super) async fn read(web: &Web, url: &Url, etag: Option<&str>) -> Result<Answer, LibraryError> {
    let request = Request {
        etag: etag.map(str::to_owned),
        ..Request::get(url.clone())
    };
    let response = web
        .send(&request)
        .await
        .map_err(|error| refuse_web(&error))?;
    let kind = judge(
        response.status,
        &response.url,
        response.header("content-type").unwrap_or_default(),
        &response.body,
        etag.is_some(),
    )?;
    Ok(match kind {
        Kind::Text => text(response),
        Kind::Unchanged => Answer::Unchanged,
        Kind::Absent => Answer::Absent,
    })
}

fn text(response: Response) -> Answer {
    let etag = response.etag().map(str::to_owned);
    Answer::Body {
        bytes: response.body.into(),
        etag,
    }
}

/// The meaning of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Unchanged,
    Absent,
}

/// Decides what a response means, after redirects.
fn judge(
    status: u16,
    url: &Url,
    content_type: &str,
    body: &[u8],
    is_conditional: bool,
) -> Result<Kind, LibraryError> {
    let server = Origin::of(url).map_or_else(|| "the server".to_owned(), |it| it.to_string());
    let denied = |reason: String| LibraryError::Denied {
        reason,
        help: Some(
            "`remote` is fetched without a token, here as by GitLab: \
             `include: project` reads files of projects that are not public"
                .to_owned(),
        ),
    };
    if url.path().contains("/users/sign_in") {
        return Err(denied(format!("{server} responds with its sign-in page")));
    }
    match status {
        200..=299 if is_html(content_type, body) => Err(denied(format!(
            "{server} responds with an HTML page, not with a file"
        ))),
        200..=299 => Ok(Kind::Text),
        304 if is_conditional => Ok(Kind::Unchanged),
        404 | 410 => Ok(Kind::Absent),
        401 | 403 | 407 => Err(denied(format!(
            "{server} does not permit public access (status {status})"
        ))),
        _ => Err(LibraryError::Unavailable(format!(
            "{server} responds with status {status}"
        ))),
    }
}

/// Returns whether a text is HTML. A server may call a YAML file `text/html`.
fn is_html(content_type: &str, body: &[u8]) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let body = body
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(body)
        .trim_ascii_start();
    let begins = |with: &str| {
        let start = body.get(..with.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
    };
    // `<<` starts a merge key in YAML, and nothing in HTML.
    let is_marked = begins("<") && !begins("<<");
    begins("<!doctype html") || begins("<html") || (essence == "text/html" && is_marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_is_judged_by_status_url_and_content() {
        let check = |status, path: &str, content_type, body: &str, expect: Result<Kind, &str>| {
            let url = Url::parse(&format!("https://h{path}?token=s3cret")).expect("an address");
            let judged = judge(status, &url, content_type, body.as_bytes(), true);
            let judged = judged.map_err(|error| error.to_string());
            let judged = judged.as_ref().map_err(String::as_str);
            assert_eq!(
                judged.copied(),
                expect,
                "{status} {path} {content_type} {body}"
            );
        };
        let page = "https://h responds with an HTML page, not with a file";
        check(200, "/a.yml", "text/plain", "a: b", Ok(Kind::Text));
        check(200, "/a.yml", "", "", Ok(Kind::Text));
        check(200, "/a.yml", "text/html", "a: b", Ok(Kind::Text));
        check(200, "/a.yml", "text/html", "<<: *a", Ok(Kind::Text));
        check(
            200,
            "/a.yml",
            "text/html; charset=utf-8",
            "\n<head>",
            Err(page),
        );
        check(
            200,
            "/a.yml",
            "text/plain",
            "\u{feff}<!DOCTYPE html>",
            Err(page),
        );
        check(
            200,
            "/a.yml",
            "application/x-yaml",
            "<HTML lang=en>",
            Err(page),
        );
        let sign_in = "https://h responds with its sign-in page";
        check(200, "/git/users/sign_in", "text/html", "<p>", Err(sign_in));
        check(304, "/a.yml", "", "", Ok(Kind::Unchanged));
        check(404, "/a.yml", "text/html", "<p>", Ok(Kind::Absent));
        check(410, "/a.yml", "", "", Ok(Kind::Absent));
        let denied = "https://h does not permit public access (status 403)";
        check(403, "/a.yml", "", "", Err(denied));
        check(
            502,
            "/a.yml",
            "",
            "",
            Err("https://h responds with status 502"),
        );
    }

    #[test]
    fn unchanged_without_a_condition_is_an_error() {
        let url = Url::parse("https://h/a.yml").expect("an address");
        let judged = judge(304, &url, "", b"", false).expect_err("refused");
        assert_eq!(judged.to_string(), "https://h responds with status 304");
    }
}
