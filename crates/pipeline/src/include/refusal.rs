//! Diagnostics about entries and files that cannot be included.

use super::locate::{Refusal, Target};
use super::{IncludeError, IncludeFailure, IncludeLocation};
use yaml::diagnostic::Diagnostic;
use yaml::source::Span;
use yaml::suggest::did_you_mean;

/// Returns the error for an invalid entry.
///
/// A wildcard that matches no file is only warned about.
pub(super) fn of_entry(refusal: Refusal, span: Span) -> Diagnostic {
    let (code, message, help) = match refusal {
        Refusal::NotNormal { shown, normal } => {
            let message = format!("include: the file `{shown}` does not exist");
            let diagnostic = if shown.contains('*') {
                Diagnostic::warning(
                    "include-missing",
                    format!("include: `{shown}` matches no file"),
                )
            } else {
                Diagnostic::error("include-missing", message)
            };
            let help = format!(
                "GitLab starts at the top of the project, and takes `.`, `..` and `//` as they are \
                 written: `{normal}`"
            );
            return diagnostic.at(span).with_help(help);
        }
        Refusal::Outside => (
            "include-outside",
            "include: the path points outside the project",
            "only files of the project can be included with `local`",
        ),
        Refusal::TooLong => (
            "invalid-include",
            "include: the path with wildcards is longer than 1024 bytes",
            "name a directory, and use the wildcard for its files",
        ),
        Refusal::NoProject => (
            "include-no-project",
            "include: `local` is not possible in a file that belongs to no project",
            "in a remote file or a template, use `remote` or `project`",
        ),
        Refusal::Artifact => (
            "include-artifact",
            "include: `artifact` is allowed only under `trigger:include` of a child pipeline",
            "include files of the project with `local`",
        ),
        Refusal::Component => (
            "include-component",
            "include: components are refused in the dialect `bitrab`",
            "the dialect `gitlab` supports components",
        ),
    };
    let error = Diagnostic::error(code, message).at(span);
    error.with_help(help.to_owned())
}

/// Returns the error for a component whose header includes files.
pub(super) fn of_component_header(span: Span) -> Diagnostic {
    let message = "header:spec:include is not allowed in a component";
    let help = "declare the inputs of a component in its own `spec:inputs`";
    let error = Diagnostic::error("invalid-include", message).at(span);
    error.with_help(help.to_owned())
}

/// Returns the warning for an entry that the dialect ignores.
pub(super) fn of_ignored(span: Span) -> Diagnostic {
    let message = "include: files of other projects and templates are ignored in the dialect \
                   `bitrab`";
    let help = "the dialect `gitlab` includes them";
    let warning = Diagnostic::warning("include-left-out", message).at(span);
    warning.with_help(help.to_owned())
}

/// Returns the error for a file that was not fetched; `paths` are candidates for a suggestion.
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
                } => Some("without a `ref`, the default branch is used".to_owned()),
                IncludeLocation::Remote { .. } => Some(
                    "remote files are fetched without a token; include files of projects that are \
                     not public with `project`"
                        .to_owned(),
                ),
                _ => None,
            };
            let message = format!("include: the {kind} `{shown}` does not exist");
            ("include-missing", message, help)
        }
        IncludeError::UnknownProject(_) | IncludeError::UnknownReference(_) => {
            let message = format!("include: `{shown}` cannot be fetched: {error}");
            let help = matches!(error, IncludeError::UnknownReference(_))
                .then(|| "name a branch, a tag, or the full id of a commit".to_owned());
            ("include-missing", message, help)
        }
        IncludeError::NotFetched(reason) => {
            let kind = kind(&target.location);
            let message = format!("include: the {kind} `{shown}` is not fetched: {reason}");
            let help = "anything it may define is not reported as missing".to_owned();
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
    let (span, unset_help) = subject(error, target);
    let help = unset_help.or(help);
    Diagnostic::error(code, message).at(span).with_help(help)
}

/// Returns the location of the name that the error is about, and help if a variable in it is not
/// set.
fn subject(error: &IncludeError, target: &Target) -> (Span, Option<String>) {
    let text = match error {
        IncludeError::UnknownReference(_) => target.reference.as_ref(),
        IncludeError::UnknownProject(_)
        | IncludeError::Failed {
            kind: IncludeFailure::Denied | IncludeFailure::NotFetched,
            ..
        } => target.project.as_ref(),
        _ => None,
    };
    match text {
        Some(text) => (text.span, text.unset_help()),
        None => (target.span, target.unset_help.clone()),
    }
}

/// Returns the error for an empty file.
pub(super) fn of_empty(target: &Target) -> Diagnostic {
    let kind = kind(&target.location);
    let message = format!("include: the {kind} `{}` is empty", target.shown);
    Diagnostic::error("empty-file", message).at(target.span)
}

fn of_failure(kind: IncludeFailure) -> (&'static str, &'static str) {
    match kind {
        IncludeFailure::Missing => ("include-missing", "does not exist"),
        IncludeFailure::Denied => ("include-denied", "may not be read"),
        IncludeFailure::Integrity => ("include-integrity", "does not match its digest"),
        IncludeFailure::NotFetched => ("include-not-fetched", "is not fetched"),
        IncludeFailure::Invalid => ("invalid-include", "is not a valid name"),
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
