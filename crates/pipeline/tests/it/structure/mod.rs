//! The structure of files: all kinds of jobs, their relations, and keywords of the file.

mod errors;
mod inherit;
mod jobs;
mod needs;
mod parallel;
mod positions;
mod rules;
mod stages;
mod trigger;
mod workflow;

use crate::plans::resolve;
use pipeline::ResolvedPipeline;
use serde_json::Value;

/// Compares some fields of a job, as `plan --json` shows them.
fn check(text: &str, job: &str, expect: &Value) {
    let resolved = resolve(text);
    let found = resolved.job(job);
    let found = found.unwrap_or_else(|| panic!("no {job} in {text}"));
    let got = serde_json::to_value(found).unwrap();
    for (field, expect) in expect.as_object().unwrap() {
        assert_eq!(&got[field], expect, "{field} of {job} in\n{text}");
    }
}

/// Returns the names of all jobs.
fn names(text: &str) -> Vec<String> {
    let jobs = resolve(text).jobs;
    let names = jobs.iter().map(|job| job.definition.name.clone());
    names.collect()
}

/// Checks the errors of a file: the message of each, `@`, and the text of its span.
///
/// Closing brackets are ignored, since the span of a list may exclude its own.
fn check_errors(text: &str, expect: &[&str]) {
    let checked = ResolvedPipeline::from_text("ci.yml", text);
    let open = |text: &str| text.trim_end_matches([']', '}', '\n', ' ']).to_owned();
    let found = checked.diagnostics.errors().map(|error| {
        let place = error.span.map(|span| &text[span.bytes()]);
        open(&format!(
            "{} @ {}",
            error.message,
            place.unwrap_or_default()
        ))
    });
    let expect: Vec<String> = expect.iter().map(|expect| open(expect)).collect();
    assert_eq!(found.collect::<Vec<_>>(), expect, "{text}");
}
