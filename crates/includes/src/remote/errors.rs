//! Errors of libraries as errors of includes.

use crate::LibraryError;
use pipeline::include::{IncludeError, IncludeFailure};

/// Returns an error of a kind.
pub(super) fn failed(
    kind: IncludeFailure,
    reason: impl Into<String>,
    help: impl Into<Option<&'static str>>,
) -> IncludeError {
    IncludeError::Failed {
        kind,
        reason: reason.into(),
        help: help.into().map(str::to_owned),
    }
}

/// Returns the error of an include whose question has no answer.
pub(super) fn of_library(error: &LibraryError) -> IncludeError {
    let kind = match error {
        LibraryError::NoProject { .. }
        | LibraryError::Denied { .. }
        | LibraryError::Refused { .. } => IncludeFailure::Denied,
        LibraryError::NoReference(reference) => {
            return IncludeError::UnknownReference(reference.clone());
        }
        LibraryError::Offline | LibraryError::NotLocked(_) => IncludeFailure::NotFetched,
        LibraryError::Damaged { .. } => IncludeFailure::Integrity,
        LibraryError::TooLarge(_) => IncludeFailure::TooLarge,
        LibraryError::NoWay | LibraryError::Unavailable(_) => IncludeFailure::Unreadable,
    };
    let help = match error {
        LibraryError::Offline => Some("a run without `--offline` fetches and keeps it"),
        _ => error.help(),
    };
    IncludeError::Failed {
        kind,
        reason: error.to_string(),
        help: help.map(str::to_owned),
    }
}
