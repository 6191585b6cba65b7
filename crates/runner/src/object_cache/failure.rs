//! What is shown of an error of a bucket: no address, no name, no key of it.

use job_runner::CacheError;
use object_store::Error;
use object_store::client::HttpError;
use std::error::Error as StdError;
use std::io;

/// What is shown when a server redirects to another one.
pub(super) const ELSEWHERE: &str =
    "the bucket is elsewhere; check `BucketLocation` and `ServerAddress`";

/// Returns a conversion that adds what was attempted.
pub(super) fn failed(action: &'static str) -> impl FnOnce(Error) -> CacheError {
    move |error| CacheError::Other {
        message: action.to_owned(),
        source: Some(io::Error::other(reason(&error)).into()),
    }
}

/// Returns why a request failed.
pub(super) fn reason(error: &Error) -> String {
    let mut cause: &(dyn StdError + 'static) = error;
    loop {
        // Its cause is an error of `web`, whose text has the server alone.
        if let Some(http) = cause.downcast_ref::<HttpError>() {
            return http
                .source()
                .map_or_else(|| "the request failed".to_owned(), ToString::to_string);
        }
        match cause.source() {
            Some(source) => cause = source,
            None => break,
        }
    }
    let text = cause.to_string();
    if let Some(answer) = answer(&text) {
        return answer;
    }
    match error {
        Error::NotFound { .. } => "it does not exist".to_owned(),
        Error::Precondition { .. } => "it was replaced meanwhile".to_owned(),
        Error::PermissionDenied { .. } => "the bucket refuses it".to_owned(),
        Error::Unauthenticated { .. } => "the bucket does not know the credentials".to_owned(),
        Error::InvalidPath { .. } => "the key has characters that no object may have".to_owned(),
        _ if text.contains("redirect") => ELSEWHERE.to_owned(),
        _ if text.contains("://") => "the request failed".to_owned(),
        _ => text,
    }
}

/// Returns the status of an answer, with the code of its body: `the bucket answers 403 Forbidden (AccessDenied)`.
fn answer(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("status code: ")?;
    let (status, body) = rest.split_once(": ").unwrap_or((rest, ""));
    let status: String = status.trim_end_matches(':').chars().take(60).collect();
    let code = body.split_once("<Code>").and_then(|(_, rest)| {
        let (code, _) = rest.split_once("</Code>")?;
        let is_code = !code.is_empty()
            && code.len() <= 60
            && code
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || ".-_".contains(it));
        is_code.then_some(code)
    });
    Some(match code {
        Some(code) => format!("the bucket answers {status} ({code})"),
        None => format!("the bucket answers {status}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_shown_by_status_and_code() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(answer(text).as_deref(), expect, "{text}");
        };
        let lead = "Server returned non-2xx status code: ";
        check(
            &format!(
                "{lead}403 Forbidden: <Error><Code>AccessDenied</Code><Key>secret</Key></Error>"
            ),
            Some("the bucket answers 403 Forbidden (AccessDenied)"),
        );
        check(
            &format!("{lead}503 Service Unavailable: "),
            Some("the bucket answers 503 Service Unavailable"),
        );
        check(
            &format!("{lead}500 Internal Server Error: <Code>a b</Code>"),
            Some("the bucket answers 500 Internal Server Error"),
        );
        check("connection refused", None);
    }
}
