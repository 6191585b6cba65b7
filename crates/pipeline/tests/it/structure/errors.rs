//! The number and the help of diagnostics.

use super::check_errors;
use pipeline::ResolvedPipeline;
use std::fmt::Write as _;

/// Returns the messages of the errors of a file.
fn sentences(text: &str) -> Vec<String> {
    let checked = ResolvedPipeline::from_text("ci.yml", text);
    let errors = checked.diagnostics.errors();
    errors.map(|error| error.sentence().into_owned()).collect()
}

/// Checks the help of the first error of a file.
fn check_help(text: &str, expect: &str) {
    let checked = ResolvedPipeline::from_text("ci.yml", text);
    let first = checked.diagnostics.errors().next().unwrap();
    assert_eq!(first.help.as_deref(), Some(expect), "{text}");
}

#[test]
fn shared_errors_are_reported_once() {
    let base = ".b: {stage: bild, needs: [nope], retry: 5, image: {name: 1}, environment: {name: e, \
                on_stop: nope}}\n";
    let jobs = "One: {extends: .b, script: x}\ntwo: {extends: .b, script: x}\n\
                three: {extends: .b, script: x, retry: 6}\n";
    assert_eq!(
        sentences(&format!("{base}{jobs}")),
        [
            "retry config must be between 0 and 2 (and in one more job)",
            "jobs:one:image name should be a string, not a number (and in 2 more jobs)",
            "retry config must be between 0 and 2",
            "One job: chosen stage bild does not exist; available stages are .pre, build, test, \
             deploy, .post (and in 2 more jobs)",
            "One job: undefined need: nope (and in 2 more jobs)",
            "One job: on_stop job `nope` is not defined (and in 2 more jobs)",
        ]
    );
}

#[test]
fn consequences_of_an_error_are_not_reported() {
    // A mistyped key is not also reported as missing.
    check_errors(
        "job: {script: x, image: {nmae: a}}",
        &["jobs:job:image config contains unknown keys: nmae @ nmae"],
    );
    check_errors(
        "a: {script: x}\njob: {script: x, needs: [{jbo: a}]}",
        &["jobs:job:needs:need config contains unknown keys: jbo @ jbo"],
    );
    // A job that does not exist cannot be among the needs.
    check_errors(
        "a: {stage: build, script: x}\njob: {script: x, needs: [a], dependencies: [nope]}",
        &["job job: undefined dependency: nope @ nope"],
    );
    check_errors(
        "a: {stage: build, script: x}\njob: {script: x, needs: [a, a, a]}",
        &["job has the following needs duplicated: a @ a"],
    );
    check_errors(
        "job: {trigger: g/p, publish: a}",
        &["jobs:job config contains unknown keys: publish @ publish"],
    );
    check_errors(
        "job: {trigger: {include: [{local: a.yml, artifact: b, job: nope}]}}",
        &["jobs:job:trigger:include config must use only one of: local, artifact @ artifact"],
    );
}

#[test]
fn unknown_keys_each_have_a_location() {
    let text = "job: {script: x, scripts: y, imgae: z}\n";
    let checked = ResolvedPipeline::from_text("ci.yml", text);
    let error = checked.diagnostics.errors().next().unwrap();
    let related: Vec<&str> = error
        .related
        .iter()
        .map(|(span, _)| &text[span.bytes()])
        .collect();
    assert_eq!(related, ["imgae"]);
    check_help(
        text,
        "`scripts`: did you mean `script`?\n`imgae`: did you mean `image`?",
    );
    let mut many = "job: {script: x".to_owned();
    for number in 0..1_000 {
        let _ = write!(many, ", k{number}: 1");
    }
    let message = &sentences(&format!("{many}}}"))[0];
    assert!(message.ends_with(", k9, and 990 more"), "{message}");
}

#[test]
fn misplaced_keywords_have_help() {
    check_help(
        "default: {stages: [a]}\njob: {script: x}",
        "`stages` belongs to the top level of the file",
    );
    check_help(
        "default: {variables: {A: b}}\njob: {script: x}",
        "variables of all jobs belong to the top level of the file",
    );
    check_help(
        "default: {environment: e}\njob: {script: x}",
        "`environment` belongs to a job",
    );
    check_help(
        "job: {script: x, changes: [a]}",
        "`changes` belongs to an entry of `rules:`",
    );
    check_help(
        "job: {script: x, type: test}",
        "`type` is now called `stage`",
    );
    check_help(
        "job: {script: x, artifacts: {reports: {cobertura: c.xml}}}",
        "write `coverage_report: {coverage_format: cobertura, path: ...}`",
    );
    check_help(
        "job: {trigger: {include: a.yml, inputs: {a: 1}}}",
        "pass inputs to the file: `include: [{local: ..., inputs: ...}]`",
    );
}

#[test]
fn only_the_first_mistyped_names_get_suggestions() {
    let mut text = String::new();
    for number in 0..200 {
        let _ = writeln!(
            text,
            "build-{number}: {{script: x, environment: {{name: e, on_stop: biuld-{number}}}}}"
        );
    }
    let checked = ResolvedPipeline::from_text("ci.yml", &text);
    let errors: Vec<_> = checked.diagnostics.errors().collect();
    assert_eq!(errors.len(), 200);
    assert!(errors[49].help.is_some() && errors[50..].iter().all(|error| error.help.is_none()));
}
