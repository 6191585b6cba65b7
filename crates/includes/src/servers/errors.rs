//! Errors of servers as errors of libraries.

use crate::LibraryError;
use crate::shown::Bytes;
use gitlab_api::{ApiError, Fault, Thing};
use web::WebError;

/// Returns the error of a request to a GitLab; `reference` is the requested branch, tag or commit.
pub(super) fn refuse(error: &ApiError, reference: Option<&str>) -> LibraryError {
    let (reason, help) = (error.to_string(), error.help());
    match error {
        ApiError::Web(error) => refuse_web(error),
        ApiError::Unauthorized { .. } | ApiError::Forbidden { .. } => {
            LibraryError::Denied { reason, help }
        }
        ApiError::NotFound { missing: what, .. } | ApiError::Invalid { what, .. } => {
            match (what, reference) {
                (Thing::Project | Thing::Group, _) => LibraryError::NoProject { reason, help },
                (Thing::Reference, Some(name)) => {
                    LibraryError::NoReference(name.escape_debug().to_string())
                }
                // Without a name it was the default branch, and an empty project has none.
                (Thing::Reference, None) => LibraryError::NoReference("HEAD".to_owned()),
                (Thing::File | Thing::Other, _) => LibraryError::Refused { reason, help },
            }
        }
        ApiError::BadAnswer {
            fault: Fault::SignIn | Fault::Page,
            ..
        } => LibraryError::Denied { reason, help },
        ApiError::TooMuch { .. }
        | ApiError::BadAnswer {
            fault: Fault::Elsewhere(_),
            ..
        } => LibraryError::Refused { reason, help },
        _ => LibraryError::Unavailable(with(reason, help)),
    }
}

/// Returns the error of any HTTP request.
pub(super) fn refuse_web(error: &WebError) -> LibraryError {
    let (reason, help) = (error.to_string(), error.help().map(str::to_owned));
    match error {
        WebError::TooLong(limit) => {
            LibraryError::TooLarge(format!("the answer has more than {}", Bytes(*limit)))
        }
        // Git may reach the project all the same.
        WebError::NoClient => LibraryError::Denied { reason, help },
        WebError::Address(_) | WebError::Refused { .. } => LibraryError::Refused { reason, help },
        _ if help.is_some() => LibraryError::Refused { reason, help },
        _ => LibraryError::Unavailable(reason),
    }
}

fn with(reason: String, help: Option<String>) -> String {
    match help {
        Some(help) => format!("{reason} ({help})"),
        None => reason,
    }
}
