//! Classifies the top-level keys of a file: keyword, hidden entry, or job of some kind.

use super::JobKind;
use super::keywords::GLOBAL;
use yaml::diagnostic::Unread;
use yaml::{Entry, Node};

/// The class of a top-level key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopLevel {
    /// A keyword of the file.
    Keyword,
    /// An entry that jobs may extend or refer to.
    Hidden,
    /// A job.
    Job(JobKind),
    /// An entry with nothing to run.
    Unclear,
}

/// The keywords of the file that count as jobs when their value looks like one.
const POSSIBLE_JOBS: [&str; 2] = ["default", "workflow"];

/// Returns the class of a top-level key.
///
/// An entry with nothing to run still counts as a job when its commands may be in a part that could
/// not be read.
pub(super) fn classify(name: &str, entry: &Entry, unread: Unread) -> TopLevel {
    let kind = match job_kind(&entry.value) {
        Some(JobKind::Trigger) if entry.value.get("trigger").is_none() => {
            let is_known = unread == Unread::Nothing;
            Some(if is_known {
                JobKind::Trigger
            } else {
                JobKind::Script
            })
        }
        kind => kind,
    };
    if GLOBAL.contains(&name) {
        return match kind {
            Some(kind) if POSSIBLE_JOBS.contains(&name) => TopLevel::Job(kind),
            _ => TopLevel::Keyword,
        };
    }
    if entry.key_is_text && name.starts_with('.') {
        return TopLevel::Hidden;
    }
    match kind {
        Some(kind) => TopLevel::Job(kind),
        None if unread != Unread::Nothing && entry.value.as_mapping().is_some() => {
            TopLevel::Job(JobKind::Script)
        }
        None => TopLevel::Unclear,
    }
}

/// Returns which kind of job a value is, if it is one.
pub(super) fn job_kind(value: &Node) -> Option<JobKind> {
    let has = |key: &str| value.get(key).is_some();
    if has("script") {
        Some(JobKind::Script)
    } else if has("run") {
        Some(JobKind::Run)
    } else {
        (has("trigger") || has("needs")).then_some(JobKind::Trigger)
    }
}
