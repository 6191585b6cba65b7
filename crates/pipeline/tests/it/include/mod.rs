//! Pipelines of several files.

mod child;
mod diagnostics;
mod dialect;
mod limits;
mod origins;
mod rules;
mod sources;

use pipeline::include::KnownFiles;
use pipeline::{Checked, Dialect, LoadOptions, Pipeline};
use serde_json::{Value, json};

const NAME: &str = ".gitlab-ci.yml";

fn load(text: &str, files: &[(&str, &str)]) -> Checked<Pipeline> {
    load_as(Dialect::GitLab, text, files)
}

fn load_as(dialect: Dialect, text: &str, files: &[(&str, &str)]) -> Checked<Pipeline> {
    let files = KnownFiles::with_own(files.iter().copied());
    let options = LoadOptions {
        includes: &files,
        dialect,
        ..LoadOptions::default()
    };
    Pipeline::load(NAME, text, &options)
}

/// Returns the merged tree of a valid pipeline.
fn tree(checked: Checked<Pipeline>) -> Value {
    let (pipeline, _) = checked
        .into_result()
        .unwrap_or_else(|found| panic!("{found}"));
    pipeline.tree().to_json()
}

fn check(text: &str, files: &[(&str, &str)], expect: &Value) {
    assert_eq!(&tree(load(text, files)), expect, "of {text}");
}

fn check_refused(text: &str, files: &[(&str, &str)], codes: &[&str]) {
    let found = load(text, files).diagnostics;
    let errors: Vec<&str> = found.errors().map(|error| error.code).collect();
    assert_eq!(errors, codes, "of {text}\n{found}");
}

fn messages(text: &str, files: &[(&str, &str)]) -> String {
    load(text, files).diagnostics.to_string()
}

#[test]
fn the_including_file_overrides_included_ones() {
    // R-PIPE-03 R-GLCI-147
    check(
        "include: [/a.yml, b.yml]\njob: {script: [m], variables: {B: m}}\nstages: [s]\n",
        &[
            (
                "a.yml",
                "include: [{local: deep/c.yml}]\njob: {script: [a, a], image: a, variables: {A: a, B: a}, stage: s}\n\
                 stages: [x, y]\ndefault: {tags: [t]}",
            ),
            ("b.yml", "job: {image: null}\ndefault: {retry: 1}"),
            (
                "deep/c.yml",
                "job: {image: c, coverage: /c/}\ndeep: {script: d, stage: s}",
            ),
        ],
        &json!({
            "job": {
                "image": null, "coverage": "/c/", "script": ["m"],
                "variables": {"A": "a", "B": "m"}, "stage": "s"
            },
            "deep": {"script": "d", "stage": "s"},
            "stages": ["s"],
            "default": {"tags": ["t"], "retry": 1}
        }),
    );
}

#[test]
fn wildcards_include_sorted_paths_once() {
    let files = [
        ("ci/z.yml", "include: ci/**.yml\nz: {script: x}"),
        ("ci/b/a.yml", "ba: {script: x}"),
        ("ci/a.yml", "a: {script: x}"),
        (NAME, "include: [{local: '**/*.yml'}]\nown: {script: x}"),
    ];
    let names = |text: &str| -> Vec<String> {
        let tree = load(text, &files).value.unwrap();
        let keys = tree.tree().as_mapping().unwrap().keys();
        keys.map(ToString::to_string).collect()
    };
    assert_eq!(names(files[3].1), ["a", "ba", "z", "own"]);
    assert_eq!(
        names("include: ['ci/*.yml']\nown: {script: x}"),
        ["a", "ba", "z", "own"]
    );
    assert_eq!(names("include: ['no/*.yml']\nown: {script: x}"), ["own"]);
    assert_eq!(names("include: no/*.yml\nown: {script: x}"), ["own"]);
    // If no file matches, GitLab checks the syntax, which must not be a hash.
    check_refused(
        "include: {local: no/*.yml}\nown: {script: x}",
        &[],
        &["invalid-include"],
    );
}

#[test]
fn each_include_of_a_file_has_its_own_inputs() {
    let files = [
        (
            "job.yml",
            "spec: {inputs: {name: {}, image: {default: ruby}}}\n---\n\"$[[ inputs.name ]]\": \n  script: x\n  image: $[[ inputs.image ]]\n\
             include:\n  - local: $[[ inputs.name ]].yml\n",
        ),
        ("a.yml", "ia: {script: x}"),
        ("b.yml", "ib: {script: x}"),
    ];
    check(
        "include: [{local: job.yml, inputs: {name: a}}, {local: job.yml, inputs: {name: b, image: go}}]",
        &files,
        &json!({
            "ia": {"script": "x"}, "a": {"script": "x", "image": "ruby"},
            "ib": {"script": "x"}, "b": {"script": "x", "image": "go"}
        }),
    );
    let found = load("include: [{local: job.yml}]\nj: {script: x}", &files).diagnostics;
    insta::assert_snapshot!(found, @r"
    error[missing-input]: `name` input: required value has not been provided
     --> .gitlab-ci.yml:1:19
      |
    1 | include: [{local: job.yml}]
      |                   ^^^^^^^
      |
     ::: job.yml:1:17
      |
    1 | spec: {inputs: {name: {}, image: {default: ruby}}}
      |                 ---- declared here, without a `default`
      |
      = help: pass it: `inputs: {name: ...}`
    ");
    let found = load(
        "include: [{local: a.yml, inputs: {x: 1}}]\nj: {script: x}",
        &files,
    )
    .diagnostics;
    insta::assert_snapshot!(found, @r"
    error[inputs-without-header]: given inputs not defined in the `spec` section of the included configuration file: it has no header
     --> .gitlab-ci.yml:1:35
      |
    1 | include: [{local: a.yml, inputs: {x: 1}}]
      |                                   ^
      |
     ::: a.yml:1:1
      |
    1 | ia: {script: x}
      | --------------- the file starts here
      |
      = help: begin the file with a document `spec: {inputs: {x: }}` and a line `---`
    ");
}
