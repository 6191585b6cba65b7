//! Child pipelines: the files that a trigger includes.

use super::NAME;
use pipeline::include::{FilesByPath, KnownFiles};
use pipeline::{Checked, LoadOptions, Overlay, Pipeline};
use serde_json::{Value, json};
use std::sync::Arc;

/// The files that all pipelines here may include.
fn files() -> KnownFiles {
    let texts = |files: &[(&str, &str)]| -> FilesByPath {
        let files = files.iter();
        files
            .map(|&(path, text)| (path.to_owned(), Arc::from(text)))
            .collect()
    };
    let artifact = "include: [{artifact: gen/more.yml, job: make: [x]}, ci/a.yml]\nb: {script: b}";
    KnownFiles {
        own: texts(&[
            ("ci/a.yml", "a: {script: a}"),
            (
                "ci/in.yml",
                "spec: {inputs: {what: }}\n---\n$[[ inputs.what ]]: {script: x}",
            ),
            ("ci/deep.yml", "deeper: {trigger: {include: ci/deep.yml}}"),
            (
                "ci/deep-artifact.yml",
                "include: {artifact: gen/a.yml, job: make}",
            ),
        ]),
        projects: [(
            "g/p".to_owned(),
            texts(&[(
                "p.yml",
                "include: [{artifact: gen/more.yml, job: 'make: [x]'}]\np: {script: p}",
            )]),
        )]
        .into_iter()
        .collect(),
        remote: texts(&[
            ("https://h/r.yml", "r: {script: r}"),
            (
                "https://h/artifact.yml",
                "include: [{artifact: gen/a.yml, job: make}]",
            ),
        ]),
        artifacts: [
            (
                "make".to_owned(),
                texts(&[("gen/a.yml", &artifact.replace("make: [x]", "'make: [x]'"))]),
            ),
            (
                "make: [x]".to_owned(),
                texts(&[("gen/more.yml", "m: {script: m}")]),
            ),
        ]
        .into_iter()
        .collect(),
    }
}

fn parent(include: &str) -> Checked<Pipeline> {
    let text = format!(
        "default: {{tags: [parent]}}\nmake: {{script: x, parallel: {{matrix: [{{A: [x]}}]}}}}\n\
         start:\n  needs: [make]\n  trigger: {{include: {include}}}\n"
    );
    Pipeline::load(NAME, &text, &LoadOptions::default())
}

fn child(include: &str) -> Checked<Pipeline> {
    let files = files();
    let options = LoadOptions {
        includes: &files,
        ..LoadOptions::default()
    };
    let Checked { value, diagnostics } = parent(include);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let parent = value.expect("it was read");
    let child = parent.child("start", diagnostics.sources(), &options);
    child.expect("it triggers one")
}

fn check(include: &str, expect: &Value) {
    let result = child(include).into_result();
    let (pipeline, _) = result.unwrap_or_else(|found| panic!("{include}: {found}"));
    assert_eq!(&pipeline.tree().to_json(), expect, "{include}");
}

fn check_refused(include: &str, expect: &[&str]) {
    let found = child(include).diagnostics;
    let codes: Vec<&str> = found.errors().map(|error| error.code).collect();
    assert_eq!(codes, expect, "{include}: {found}");
}

#[test]
fn a_child_consists_of_the_includes_of_its_trigger() {
    let job = |name: &str| json!({"script": name});
    check("ci/a.yml", &json!({"a": job("a")}));
    check("[ci/a.yml]", &json!({"a": job("a")}));
    check("{local: /ci/a.yml}", &json!({"a": job("a")}));
    check("https://h/r.yml", &json!({"r": job("r")}));
    check(
        "[{remote: 'https://h/r.yml'}, [{local: ci/a.yml}]]",
        &json!({"r": job("r"), "a": job("a")}),
    );
    check(
        "[{local: ci/in.yml, inputs: {what: one}}, {local: ci/in.yml, inputs: {what: two}}]",
        &json!({"one": job("x"), "two": job("x")}),
    );
}

#[test]
fn files_of_projects_may_include_artifacts_of_the_parent() {
    let job = |name: &str| json!({"script": name});
    let all = json!({"m": job("m"), "a": job("a"), "b": job("b")});
    check("[{artifact: gen/a.yml, job: make}]", &all);
    check("[{artifact: /gen/a.yml, job: make}]", &all);
    check("ci/deep-artifact.yml", &all);
    let of_project = json!({"m": job("m"), "p": job("p")});
    check("[{project: g/p, file: p.yml}]", &of_project);
}

#[test]
fn invalid_includes_of_a_child_are_refused() {
    check_refused(
        "[{remote: 'https://h/artifact.yml'}]",
        &["include-artifact"],
    );
    check_refused(
        "[{artifact: gen/gone.yml, job: make}]",
        &["include-missing"],
    );
    check_refused("ci/gone.yml", &["include-missing"]);
    check_refused("[{template: x.gitlab-ci.yml}]", &["include-missing"]);
    check_refused("ci/in.yml", &["missing-input"]);
    check_refused("[{local: ci/a.txt}]", &["include-extension"]);
    // Names that unfetched files may define are not reported as missing.
    check_refused("[{component: h/g/c@1}]", &["include-not-fetched"]);
}

#[test]
fn an_error_in_a_child_has_a_location_in_the_parent() {
    let found = child("[{artifact: gen/a.yml, job: 'make: [y]'}]").diagnostics;
    insta::assert_snapshot!(found, @r"
    error[include-missing]: include: `gen/a.yml` of the job `make: [y]` does not exist: no job of this name has artifacts in the parent pipeline
     --> .gitlab-ci.yml:5:34
      |
    5 |   trigger: {include: [{artifact: gen/a.yml, job: 'make: [y]'}]}
      |                                  ^^^^^^^^^
      |
      = help: a job keeps the files of its `artifacts:paths`
    ");
}

#[test]
fn a_trigger_includes_one_to_three_files() {
    let check = |include: &str, code: &str| {
        let read = parent(include);
        let found = read.and_then(|read, found| Some(read.resolve(found)));
        let found = found.diagnostics;
        let codes: Vec<&str> = found.errors().map(|error| error.code).collect();
        assert_eq!(codes, [code], "{include}: {found}");
    };
    check("[a.yml, b.yml, c.yml, d.yml]", "invalid-value");
    check("[]", "invalid-value");
    check("''", "invalid-value");
    check("[{artifact: a.yml}]", "invalid-value");
    check("[{artifact: a.yml, job: gone}]", "unknown-dependency");
}

#[test]
fn options_of_the_parent_do_not_apply_to_the_child() {
    let overlays = [Overlay {
        name: "over.yml".to_owned(),
        text: "over: {script: x}".to_owned(),
    }];
    let files = files();
    let options = LoadOptions {
        includes: &files,
        inputs: [("what".to_owned(), json!("parent"))].into_iter().collect(),
        overlays: &overlays,
        ..LoadOptions::default()
    };
    let Checked { value, diagnostics } = parent("[{local: ci/in.yml, inputs: {what: one}}]");
    let parent = value.expect("it was read");
    let child = parent.child("start", diagnostics.sources(), &options);
    let (child, _) = child.expect("a child").into_result().expect("no errors");
    assert_eq!(child.tree().to_json(), json!({"one": {"script": "x"}}));
    assert!(
        parent
            .child("make", diagnostics.sources(), &options)
            .is_none()
    );
    assert!(
        parent
            .child("gone", diagnostics.sources(), &options)
            .is_none()
    );
}

#[test]
fn children_are_nested_at_most_two_levels_deep() {
    let files = files();
    let options = LoadOptions {
        includes: &files,
        ..LoadOptions::default()
    };
    let text = "deeper: {trigger: {include: ci/deep.yml}}\n";
    let mut checked = Pipeline::load(NAME, text, &options);
    for depth in 0..2 {
        let pipeline = checked.value.expect("it may nest");
        assert_eq!(pipeline.depth(), depth);
        let child = pipeline.child("deeper", checked.diagnostics.sources(), &options);
        checked = child.expect("it triggers one");
    }
    let last = checked.value.expect("it may nest");
    let child = last.child("deeper", checked.diagnostics.sources(), &options);
    let found = child.expect("it triggers one").diagnostics;
    insta::assert_snapshot!(found, @r"
    error[child-too-deep]: child pipelines are nested more than 2 levels deep
     --> ci/deep.yml:1:29
      |
    1 | deeper: {trigger: {include: ci/deep.yml}}
      |                             ^^^^^^^^^^^
      |
     ::: ci/deep.yml:1:29
      |
    1 | deeper: {trigger: {include: ci/deep.yml}}
      |                             ----------- included here
      |
     ::: .gitlab-ci.yml:1:29
      |
    1 | deeper: {trigger: {include: ci/deep.yml}}
      |                             ----------- included here
      |
      = help: move its jobs into this pipeline, or start it from the parent pipeline
    ");
}
