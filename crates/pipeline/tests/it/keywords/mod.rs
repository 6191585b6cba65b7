//! Every keyword of a job: the results of valid values and the errors of invalid ones.

mod artifacts;
mod cache;
mod environment;
mod image;
mod inputs;
mod release;
mod retry;
mod run;
mod script;
mod secrets;
mod small;
mod tokens;

use pipeline::ResolvedPipeline;
use pipeline::{Checked, Diagnostic};
use serde_json::{Value, json};
use yaml::source::SourceMap;

/// Returns a job with a script and these keywords, each on its own line.
fn job(keywords: &str) -> String {
    format!("job:\n  script: x\n  {}\n", keywords.replace('\n', "\n  "))
}

/// Checks the result of a keyword of a job.
fn accept(keywords: &str, field: &str, expect: &Value) {
    accept_file(&job(keywords), field, expect);
}

/// Checks the result of a keyword of the job `job`.
fn accept_file(text: &str, field: &str, expect: &Value) {
    let Checked { value, diagnostics } = ResolvedPipeline::from_text("ci.yml", text);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let resolved = value.unwrap();
    let got = json!(resolved.job("job").unwrap());
    assert_eq!(&got[field], expect, "{field} of\n{text}");
}

/// Checks that keywords of a job have one error, with its message and text.
fn refuse(keywords: &str, message: &str, about: &str) {
    refuse_file(&job(keywords), &[(message, about)]);
}

/// Checks the messages and texts of all errors of a file.
fn refuse_file(text: &str, expect: &[(&str, &str)]) {
    let Checked { diagnostics, .. } = ResolvedPipeline::from_text("ci.yml", text);
    let errors: Vec<(&str, &str)> = diagnostics
        .errors()
        .map(|error| {
            (
                error.message.as_str(),
                text_of(error, diagnostics.sources()),
            )
        })
        .collect();
    let expect: Vec<(&str, &str)> = expect
        .iter()
        .map(|&(message, about)| (message, open(about)))
        .collect();
    assert_eq!(errors, expect, "in\n{text}");
}

fn text_of<'s>(error: &Diagnostic, sources: &'s SourceMap) -> &'s str {
    let span = error.span.unwrap();
    open(&sources.file(span.file).text()[span.bytes()])
}

/// Returns a list or mapping without its end, since a span need not contain the closing bracket.
fn open(text: &str) -> &str {
    if text.starts_with(['[', '{']) {
        text.trim_end_matches([']', '}', ' '])
    } else {
        text
    }
}
