//! The keywords a file and its jobs may have, and how far each is obeyed.

use super::reader::{Field, Reader};
use crate::diagnostic::Diagnostic;
use crate::yaml::Mapping;

/// How far a keyword of a job is obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Support {
    /// Fully.
    Full,
    /// It is read and kept, but has no effect; a warning says so.
    Kept,
    /// The job would not mean the same without it, so it is refused.
    Refused,
}

/// The top-level keys that are keywords.
pub(super) const GLOBAL: [&str; 10] = [
    "default",
    "include",
    "before_script",
    "image",
    "services",
    "after_script",
    "variables",
    "stages",
    "cache",
    "workflow",
];

/// The old top-level forms of keywords of `default`.
pub(super) const LEGACY_DEFAULTS: [&str; 5] = [
    "image",
    "services",
    "before_script",
    "after_script",
    "cache",
];

/// The keywords of a job.
pub(super) const JOB: [(&str, Support); 39] = [
    ("after_script", Support::Full),
    ("allow_failure", Support::Full),
    ("artifacts", Support::Full),
    ("before_script", Support::Full),
    ("cache", Support::Kept),
    ("coverage", Support::Kept),
    ("dast_configuration", Support::Kept),
    ("dependencies", Support::Full),
    ("environment", Support::Kept),
    ("except", Support::Full),
    ("extends", Support::Full),
    ("hooks", Support::Full),
    ("id_tokens", Support::Kept),
    ("identity", Support::Kept),
    ("image", Support::Full),
    ("inherit", Support::Full),
    ("inputs", Support::Kept),
    ("interruptible", Support::Full),
    ("manual_confirmation", Support::Kept),
    ("needs", Support::Full),
    ("only", Support::Full),
    ("pages", Support::Kept),
    ("parallel", Support::Full),
    ("publish", Support::Kept),
    ("release", Support::Kept),
    ("resource_group", Support::Kept),
    ("retry", Support::Full),
    ("rules", Support::Full),
    ("run", Support::Full),
    ("script", Support::Full),
    ("secrets", Support::Kept),
    ("services", Support::Full),
    ("stage", Support::Full),
    ("start_in", Support::Full),
    ("tags", Support::Full),
    ("timeout", Support::Full),
    ("trigger", Support::Full),
    ("variables", Support::Full),
    ("when", Support::Full),
];

/// Returns the names of all keywords of a job.
pub(super) fn job_names() -> Vec<&'static str> {
    JOB.iter().map(|(name, _)| *name).collect()
}

/// Returns how far the keyword `name` of a job is obeyed.
pub(super) fn support(name: &str) -> Option<Support> {
    let found = JOB.iter().find(|(known, _)| *known == name);
    found.map(|(_, support)| *support)
}

/// Reports keywords that are not obeyed.
pub(super) fn check_support(reader: &mut Reader<'_>, field: Field<'_>, entries: &Mapping) {
    for (key, entry) in entries {
        let finding = match support(key) {
            Some(Support::Refused) => {
                let message = format!("{}: `{key}` is not supported yet", field.path);
                Diagnostic::error("unsupported-keyword", message)
            }
            _ => continue,
        };
        reader.diagnostics.push(finding.at(entry.key_span));
    }
}
