//! From why there is no answer to what is said of an included file.

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

/// Returns what is said when a library gave no answer.
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
        LibraryError::Offline => Some("`--offline` can be left out once, and then it is kept"),
        _ => error.help(),
    };
    IncludeError::Failed {
        kind,
        reason: error.to_string(),
        help: help.map(str::to_owned),
    }
}
