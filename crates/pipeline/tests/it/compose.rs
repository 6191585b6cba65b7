//! `extends` and `!reference`, in both dialects.

use crate::plans::resolve;
use parking_lot::Mutex;
use pipeline::include::{
    FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludeSource, IncludedFile,
    KnownFiles,
};
use pipeline::repository::Paths;
use pipeline::{Dialect, LoadOptions, Pipeline, ResolvedPipeline};
use serde_json::{Value, json};
use std::fmt::Write as _;

fn codes(text: &str) -> Vec<&'static str> {
    let found = ResolvedPipeline::from_text("ci.yml", text).diagnostics;
    found.errors().map(|error| error.code).collect()
}

fn field(text: &str, job: &str, field: &str) -> Value {
    let resolved = resolve(text);
    let job = resolved.job(job).unwrap();
    serde_json::to_value(job).unwrap()[field].clone()
}

/// Returns a chain of references, each a list that contains the one before.
fn nested(references: usize) -> String {
    let mut text = ".r0: {script: [x]}\n".to_owned();
    for at in 1..references {
        let _ = writeln!(
            text,
            ".r{at}: {{script: [!reference [.r{}, script]]}}",
            at - 1
        );
    }
    let last = references - 1;
    text + &format!("j: {{script: [!reference [.r{last}, script]]}}\n")
}

#[test]
fn references_are_resolved_and_flattened_up_to_ten_levels() {
    // R-GLCI-155
    let text = ".a: {script: [a, [b]]}\n.b: {script: [!reference [.a, script], c]}\n\
                j: {script: [!reference [.b, script], d]}";
    assert_eq!(field(text, "j", "script"), json!(["a", "b", "c", "d"]));
    assert_eq!(field(&nested(9), "j", "script"), json!(["x"]));
    assert_eq!(codes(&nested(10)), ["invalid-value"]);
    let found = ResolvedPipeline::from_text("ci.yml", &nested(10)).diagnostics;
    let message = &found.errors().next().unwrap().message;
    assert!(
        message.contains("nested") && message.contains("10"),
        "{message}"
    );
    assert_eq!(
        codes("a: {script: [!reference [a, script]]}"),
        ["reference-cycle"]
    );
}

#[test]
fn all_errors_are_shown_at_once() {
    let text = "
a: {extends: .no, script: x, retry: 9}
b: {extends: b, script: x}
c: {script: [!reference [.none, script]], tags: t}
d: {before_script: [!reference [.none, before_script]], script: x, whne: always}
";
    assert_eq!(
        codes(text),
        [
            "unknown-base",
            "extends-cycle",
            "unknown-reference",
            "unknown-reference",
            "invalid-value",
            "invalid-value",
            "unknown-keyword"
        ]
    );
}

#[test]
fn ten_thousand_jobs_share_their_base() {
    let mut text =
        ".base: {image: i, tags: [a, b], variables: {A: 1}, script: [x, y, z]}\n".to_owned();
    for at in 0..10_000 {
        let _ = writeln!(text, "j{at}: {{extends: .base, stage: test}}");
    }
    let (pipeline, _) = Pipeline::from_text("ci.yml", &text).into_result().unwrap();
    let script = |job: &str| pipeline.tree().get(job).unwrap().get("script").unwrap();
    assert!(std::sync::Arc::ptr_eq(script("j0"), script("j9999")));
}

#[test]
fn bitrabs_dialect_composes_like_gitlab() {
    // R-PIPE-11 R-PIPE-12
    let text = "
stages: [build, test]
variables: {A: root}
default: {image: ruby, retry: 1}
.a: {tags: [t], variables: {B: a}}
.b: {extends: .a, timeout: 90 seconds}
job: {extends: .b, stage: test, script: make, allow_failure: {exit_codes: 3}}
";
    let (resolved, job) = bitrab(text, "job");
    assert_eq!(resolved.stages, [".pre", "build", "test", ".post"]);
    for (field, expect) in [
        ("variables", json!({"A": "root", "B": "a"})),
        ("image", json!({"name": "ruby"})),
        ("retry", json!({"max": 1})),
        ("tags", json!(["t"])),
        ("timeout_seconds", json!(90)),
        ("allow_failure_exit_codes", json!([3])),
    ] {
        assert_eq!(job[field], expect, "{field}");
    }
}

#[test]
fn bitrabs_dialect_expands_parallel_jobs_and_their_needs() {
    // R-PIPE-13 R-PIPE-14
    let text = "
stages: [build, test]
a: {stage: build, script: x, parallel: 2}
b: {stage: build, script: x, parallel: {matrix: [{OS: [l, m]}]}}
c: {stage: test, script: x, needs: [a, b], dependencies: [a]}
";
    let (resolved, job) = bitrab(text, "c");
    let names: Vec<&str> = resolved
        .jobs
        .iter()
        .map(|job| &*job.definition.name)
        .collect();
    assert_eq!(names, ["a 1/2", "a 2/2", "b: [l]", "b: [m]", "c"]);
    let needs: Vec<&str> = job["needs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|need| need["job"].as_str().unwrap())
        .collect();
    assert_eq!(needs, ["a 1/2", "a 2/2", "b: [l]", "b: [m]"]);
    assert_eq!(job["dependencies"], json!(["a 1/2", "a 2/2"]));
}

#[test]
fn the_own_file_is_read_first_and_its_errors_have_locations() {
    // R-PIPE-02
    let files = KnownFiles::with_own([("a.yml", "broken: [")]);
    let options = LoadOptions {
        dialect: Dialect::Bitrab,
        includes: &files,
        ..LoadOptions::default()
    };
    let found = Pipeline::load(
        ".bitrab-ci.yml",
        "include: a.yml\njob: {script: [x}\n",
        &options,
    );
    let places: Vec<String> = found
        .diagnostics
        .errors()
        .map(|error| {
            let span = error.span.unwrap();
            let file = found.diagnostics.sources().file(span.file);
            format!("{}:{}", file.name(), span.line)
        })
        .collect();
    assert_eq!(places, [".bitrab-ci.yml:2"]);
}

fn bitrab(text: &str, job: &str) -> (ResolvedPipeline, Value) {
    let options = LoadOptions {
        dialect: Dialect::Bitrab,
        ..LoadOptions::default()
    };
    let resolved = Pipeline::load(".bitrab-ci.yml", text, &options)
        .and_then(|pipeline, diagnostics| Some(pipeline.resolve(diagnostics)));
    let (resolved, _) = resolved.into_result().unwrap();
    let definition = serde_json::to_value(resolved.job(job).unwrap()).unwrap();
    (resolved, definition)
}

/// A source with only the files of the project, which records other requests.
#[derive(Debug, Default)]
struct Offline {
    files: KnownFiles,
    asked: Mutex<Vec<IncludeLocation>>,
}

impl IncludeSource for Offline {
    fn paths(&self, home: &FileHome) -> Result<Paths, IncludeError> {
        self.files.paths(home)
    }

    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>> {
        let locations = requests.iter().map(|request| request.location.clone());
        let is_local =
            |location: &IncludeLocation| matches!(location, IncludeLocation::Local { .. });
        let others = locations.filter(|location| !is_local(location));
        self.asked.lock().extend(others);
        self.files.fetch(requests)
    }
}

#[test]
fn a_local_configuration_requests_only_files_of_the_project() {
    // R-GLCI-166
    let offline = Offline {
        files: KnownFiles::with_own([
            ("ci/a.yml", "include: ['/ci/more/*.yml']\n.a: {script: [x]}"),
            (
                "ci/more/b.yml",
                "spec: {inputs: {n: {default: b}}}\n---\n\"$[[ inputs.n ]]\": {extends: .a}",
            ),
        ]),
        ..Offline::default()
    };
    let options = LoadOptions {
        includes: &offline,
        ..LoadOptions::default()
    };
    let text = "include: ci/a.yml\nj: {script: [!reference [.a, script]], parallel: 2, rules: [{exists: [x]}]}";
    let loaded = Pipeline::load("ci.yml", text, &options);
    let (resolved, _) = loaded
        .and_then(|pipeline, diagnostics| Some(pipeline.resolve(diagnostics)))
        .into_result()
        .unwrap();
    assert_eq!(resolved.jobs.len(), 3);
    assert!(offline.asked.lock().is_empty());

    Pipeline::load(
        "ci.yml",
        "include: [https://e.com/a.yml]\nj: {script: x}",
        &options,
    );
    assert_eq!(offline.asked.lock().len(), 1);
}
