//! What is said when an included file is not there.

use super::locate::{Refusal, Target};
use super::{IncludeError, IncludeFailure, IncludeLocation};
use yaml::diagnostic::Diagnostic;
use yaml::source::Span;
use yaml::suggest::did_you_mean;

/// Returns the error for an entry that cannot be followed.
pub(super) fn of_entry(refusal: Refusal, span: Span) -> Diagnostic {
    let (code, message, help) = match refusal {
        Refusal::Outside => (
            "include-outside",
            "include: the path leads out of the project",
            "only files of the project can be included with `local`",
        ),
        Refusal::TooLong => (
            "invalid-include",
            "include: the path with wildcards is longer than 1024 bytes",
            "name a directory, and let the wildcard stand for what is in it",
        ),
        Refusal::NoProject => (
            "include-no-project",
            "include: `local` means nothing in a file that is in no project",
            "in a remote file or a template, include others with `remote` or `project`",
        ),
        Refusal::Artifact => (
            "include-artifact",
            "include: `artifact` is allowed under `trigger:include` of a child pipeline only",
            "a file of the project is included with `local`",
        ),
        Refusal::Component => (
            "include-component",
            "include: components are refused in the dialect `bitrab`",
            "the dialect `gitlab` knows components",
        ),
    };
    let error = Diagnostic::error(code, message).at(span);
    error.with_help(help.to_owned())
}

/// Returns the error for a component whose header includes files.
pub(super) fn of_component_header(span: Span) -> Diagnostic {
    let message = "header:spec:include is not allowed in a component";
    let help = "the inputs of a component stand in its own `spec:inputs`";
    let error = Diagnostic::error("invalid-include", message).at(span);
    error.with_help(help.to_owned())
}

/// Returns the warning for an entry that the dialect leaves out.
pub(super) fn left_out(span: Span) -> Diagnostic {
    let message = "include: files of other projects and templates are left out in the dialect \
                   `bitrab`";
    let help = "the dialect `gitlab` includes them";
    let warning = Diagnostic::warning("include-left-out", message).at(span);
    warning.with_help(help.to_owned())
}

/// Returns the error for a file that could not be had; `paths` are those it may have been mistyped
/// for.
pub(super) fn of_file<'p>(
    error: &IncludeError,
    target: &Target,
    paths: impl Iterator<Item = &'p str>,
) -> Diagnostic {
    let shown = &target.shown;
    let (code, message, help) = match error {
        IncludeError::Missing => {
            let kind = kind(&target.location);
            let help = match &target.location {
                IncludeLocation::Local { .. } => did_you_mean(shown, paths),
                IncludeLocation::Project {
                    reference: None, ..
                } => Some("without a `ref`, the default branch is meant".to_owned()),
                IncludeLocation::Remote { .. } => Some(
                    "a remote file is asked for without a token; one of a project that is not \
                     public is included with `project`"
                        .to_owned(),
                ),
                _ => None,
            };
            let message = format!("include: the {kind} `{shown}` does not exist");
            ("include-missing", message, help)
        }
        IncludeError::UnknownProject(_) | IncludeError::UnknownReference(_) => {
            let message = format!("include: `{shown}` cannot be had: {error}");
            let help = matches!(error, IncludeError::UnknownReference(_))
                .then(|| "a branch, a tag, or the whole id of a commit can be named".to_owned());
            ("include-missing", message, help)
        }
        IncludeError::NotFetched(reason) => {
            let kind = kind(&target.location);
            let message = format!("include: the {kind} `{shown}` is not fetched: {reason}");
            let help = "what it might define is not reported as missing".to_owned();
            ("include-not-fetched", message, Some(help))
        }
        IncludeError::Unreadable(reason) => {
            let message = format!("include: `{shown}` cannot be read: {reason}");
            ("include-unreadable", message, None)
        }
        IncludeError::Failed { kind, reason, help } => {
            let (code, what) = of_failure(*kind);
            let message = format!("include: `{shown}` {what}: {reason}");
            (code, message, help.clone())
        }
    };
    let error = Diagnostic::error(code, message).at(place(error, target));
    error.with_help(help)
}

/// Returns where that stands which the error is about.
fn place(error: &IncludeError, target: &Target) -> Span {
    let place = match error {
        IncludeError::UnknownReference(_) => target.reference_span,
        IncludeError::UnknownProject(_)
        | IncludeError::Failed {
            kind: IncludeFailure::Denied,
            ..
        } => target.project_span,
        _ => None,
    };
    place.unwrap_or(target.span)
}

/// Returns the error for a file that has nothing in it.
pub(super) fn of_empty(target: &Target) -> Diagnostic {
    let kind = kind(&target.location);
    let message = format!("include: the {kind} `{}` is empty", target.shown);
    Diagnostic::error("empty-file", message).at(target.span)
}

fn of_failure(kind: IncludeFailure) -> (&'static str, &'static str) {
    match kind {
        IncludeFailure::Missing => ("include-missing", "is not there"),
        IncludeFailure::Denied => ("include-denied", "may not be read"),
        IncludeFailure::Integrity => ("include-integrity", "is not what was meant"),
        IncludeFailure::NotFetched => ("include-not-fetched", "is not fetched"),
        IncludeFailure::Invalid => ("invalid-include", "names no file"),
        IncludeFailure::TooLarge => ("file-too-large", "is too large"),
        IncludeFailure::Unreadable => ("include-unreadable", "cannot be read"),
    }
}

fn kind(location: &IncludeLocation) -> &'static str {
    match location {
        IncludeLocation::Local { .. } => "local file",
        IncludeLocation::Project { .. } => "project file",
        IncludeLocation::Remote { .. } => "remote file",
        IncludeLocation::Template { .. } => "template",
        IncludeLocation::Component { .. } => "component",
        IncludeLocation::Artifact { .. } => "artifact",
    }
}
