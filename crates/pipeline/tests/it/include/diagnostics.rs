//! Diagnostics about invalid includes and missing files.

use super::{NAME, check, check_refused, load, messages};
use pipeline::include::{
    FileHome, IncludeError, IncludeFailure, IncludeLocation, IncludeRequest, IncludeSource,
    IncludedFile, KnownFiles,
};
use pipeline::repository::Paths;
use pipeline::{LoadOptions, Pipeline};
use serde_json::json;

/// A source with the files of the project; other projects are empty or not readable.
#[derive(Debug)]
struct Refusing(KnownFiles);

impl IncludeSource for Refusing {
    fn paths(&self, home: &FileHome) -> Result<Paths, IncludeError> {
        self.0.paths(home)
    }

    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>> {
        let answer = |request: &IncludeRequest| match &request.location {
            IncludeLocation::Project { project, .. } if project == "g/secret" => {
                Err(IncludeError::Failed {
                    kind: IncludeFailure::Denied,
                    reason: "it is hidden".to_owned(),
                    help: None,
                })
            }
            IncludeLocation::Project {
                reference: Some(name),
                ..
            } => Err(IncludeError::UnknownReference(name.clone())),
            IncludeLocation::Project { .. } => Err(IncludeError::Missing),
            _ => self.0.fetch(std::slice::from_ref(request)).remove(0),
        };
        requests.iter().map(answer).collect()
    }
}

#[test]
fn invalid_includes_are_refused_at_their_location() {
    check_refused("include: 1\nj: {script: x}", &[], &["invalid-include"]);
    check_refused("include: [1]\nj: {script: x}", &[], &["invalid-include"]);
    check_refused(
        "include: [{local: [a.yml]}]\nj: {script: x}",
        &[],
        &["invalid-include"],
    );
    check_refused(
        "include: [{foo: bar}]\nj: {script: x}",
        &[],
        &["invalid-include"],
    );
    check_refused("include: {}\nj: {script: x}", &[], &["invalid-include"]);
    check_refused(
        "include: a.txt\nj: {script: x}",
        &[],
        &["include-extension"],
    );
    check_refused(
        "include: [{local: a.yml, remote: 'https://e.com/a.yml'}]\nj: {script: x}",
        &[],
        &["invalid-include"],
    );
    check_refused(
        "include: [{project: g/p}]\nj: {script: x}",
        &[],
        &["invalid-include"],
    );
    check_refused(
        "include: [{artifact: a.yml, job: j}]\nj: {script: x}",
        &[],
        &["include-artifact"],
    );
    check_refused(
        "include: [{remote: a.yml}]\nj: {script: x}",
        &[],
        &["invalid-include"],
    );
    for (details, codes) in [
        ("integrity: sha256-x", ["invalid-include"].as_slice()),
        ("cache: 30 seconds", &["invalid-include"]),
        (
            "cache: 2 minutes, integrity: 'sha256-L3/GAoKaw0Arw6hDCKeKQlV1QPEgHYxGBHsH4zG1IY8='",
            &["include-not-fetched"],
        ),
    ] {
        let text =
            format!("include: [{{remote: 'https://e.com/a.yml', {details}}}]\nj: {{script: x}}");
        check_refused(&text, &[], codes);
    }
    check_refused(
        "include: [{local: a.yml, cache: true}]\nj: {script: x}",
        &[("a.yml", "a: {script: x}")],
        &["invalid-include"],
    );
    for nothing in ["", "~", "[]", "[~]", "''"] {
        check(
            &format!("include: {nothing}\nj: {{script: x}}"),
            &[],
            &json!({"j": {"script": "x"}}),
        );
    }
}

#[test]
fn an_error_is_shown_at_its_location() {
    let elsewhere = Refusing(KnownFiles::with_own([("empty.yml", " \n")]));
    let check = |entry: &str, expect: &str| {
        let options = LoadOptions {
            includes: &elsewhere,
            ..LoadOptions::default()
        };
        let text = format!("include: [{{{entry}}}]\nj: {{script: x}}");
        let found = Pipeline::load(NAME, &text, &options).diagnostics;
        let error = found.errors().next().unwrap_or_else(|| panic!("{entry}"));
        let span = error.span.expect("a place");
        let said = format!("{}: {}", &text[span.bytes()], error.message);
        assert!(said.starts_with(expect), "{entry}: {said}");
    };
    check("project: g/p, file: a.yml, ref: gone", "gone: ");
    check("project: g/p, file: a.yml", "a.yml: ");
    check("project: g/secret, file: a.yml, ref: v1", "g/secret: ");
    check(
        "project: $NO, file: a.yml",
        "$NO: include: the project is empty",
    );
    check("component: $NO", "$NO: include: the component is empty");
    check(
        "local: empty.yml",
        "empty.yml: include: the local file `empty.yml` is empty",
    );
    check(
        "template: Go",
        "Go: include: `Go` is not the name of a template",
    );
}

#[test]
fn a_missing_file_is_named_with_a_similar_one() {
    // R-GLCI-147
    let files = [("ci/build.yml", "build: {script: make}")];
    insta::assert_snapshot!(messages("include:\n  - local: ci/biuld.yml\njob: {script: x}\n", &files), @r"
    error[include-missing]: include: the local file `ci/biuld.yml` does not exist
     --> .gitlab-ci.yml:2:12
      |
    2 |   - local: ci/biuld.yml
      |            ^^^^^^^^^^^^
      |
      = help: did you mean `ci/build.yml`?
    ");
    check_refused(
        "include: a.yml\nj: {script: x}",
        &[("a.yml", "")],
        &["empty-file"],
    );
    check_refused(
        "include: a.yml\nj: {script: x}",
        &[("a.yml", "- a")],
        &["invalid-file"],
    );
}

#[test]
fn a_path_is_looked_for_as_it_is_written() {
    let files = [("ci/a.yml", "a: {script: x}")];
    insta::assert_snapshot!(messages("include: [./ci/a.yml]\njob: {script: x}\n", &files), @r"
    error[include-missing]: include: the file `./ci/a.yml` does not exist
     --> .gitlab-ci.yml:1:11
      |
    1 | include: [./ci/a.yml]
      |           ^^^^^^^^^^
      |
      = help: GitLab starts at the top of the project, and takes `.`, `..` and `//` as they are written: `ci/a.yml`
    ");
    for path in ["ci//a.yml", "ci/../ci/a.yml", "ci/./a.yml"] {
        let text = format!("include: [{{local: {path}}}]\nj: {{script: x}}");
        check_refused(&text, &files, &["include-missing"]);
        let text = format!("include: [{{project: g/p, file: {path}}}]\nj: {{script: x}}");
        check_refused(&text, &files, &["include-missing"]);
    }
    // GitLab accepts a wildcard that matches no file.
    let found = load("include: ['./ci/*.yml']\nj: {script: x}", &files).diagnostics;
    assert!(!found.has_errors(), "{found}");
    let warnings: Vec<&str> = found.warnings().map(|it| &*it.message).collect();
    assert_eq!(warnings, ["include: `./ci/*.yml` matches no file"]);
}

#[test]
fn an_unset_variable_in_a_name_is_named() {
    let check = |entry: &str, code: &str| {
        let text = format!("include: [{{{entry}}}]\nvariables: {{NO: x}}\nj: {{script: x}}");
        let found = load(&text, &[]).diagnostics;
        let error = found.errors().next().unwrap_or_else(|| panic!("{entry}"));
        let help = error.help.as_deref().unwrap_or_default();
        assert!(help.starts_with("`$NO` is not set"), "{entry}: {found}");
        assert_eq!(error.code, code, "{entry}");
    };
    check("local: $NO", "invalid-include");
    check("local: ci/$NO", "include-extension");
    check("local: ci/a$NO.yml", "include-missing");
    check("project: g/p$NO, file: a.yml", "include-missing");
    check("project: g/p, file: a.yml, ref: $NO", "invalid-include");
    check("remote: $NO/a.yml", "invalid-include");
    check("template: a-$NO", "include-extension");
    check("component: $NO", "invalid-include");
}

#[test]
fn errors_are_shown_in_the_included_file_and_at_its_include() {
    let files = [
        ("ci/all.yml", "include: [ci/test.yml]\n"),
        (
            "ci/test.yml",
            "test:\n  script: make test\n  whne: always\n",
        ),
    ];
    insta::assert_snapshot!(messages("include: [ci/all.yml]\n", &files), @r"
    error[unknown-keyword]: jobs:test config contains unknown keys: whne
     --> ci/test.yml:3:3
      |
    3 |   whne: always
      |   ^^^^
      |
     ::: ci/all.yml:1:11
      |
    1 | include: [ci/test.yml]
      |           ----------- included here
      |
     ::: .gitlab-ci.yml:1:11
      |
    1 | include: [ci/all.yml]
      |           ---------- included here
      |
      = help: did you mean `when`?
    ");
    insta::assert_snapshot!(messages("include: [a.yml]\nj: {script: x}", &[("a.yml", "a: {script: [}")]), @r"
    error[yaml-syntax]: invalid YAML: did not find expected node content
     --> a.yml:1:14
      |
    1 | a: {script: [}
      |              ^
      |
     ::: .gitlab-ci.yml:1:11
      |
    1 | include: [a.yml]
      |           ----- included here
    ");
}

#[test]
fn unfetched_includes_are_reported_once_and_names_in_them_are_not_missed() {
    let text = "
include:
  - remote: https://example.com/base.yml
  - component: $CI_SERVER_FQDN/group/lint/lint@1.0
stages: [test]
part-of-a-job:
  stage: from-there
  needs: [job-from-there]
job:
  extends: [.from-there]
  stage: from-there
  before_script: [!reference [.from-there, script]]
  script: x
  dependencies: [job-from-there]
  retyr: 1
";
    let found = load(text, &[]).diagnostics;
    let errors: Vec<&str> = found.errors().map(|error| error.code).collect();
    // Other errors are still shown.
    let expect = [
        "include-not-fetched",
        "include-not-fetched",
        "unknown-keyword",
    ];
    assert_eq!(errors, expect, "{found}");
    insta::assert_snapshot!(found.render(found.errors().next().unwrap()), @r"
    error[include-not-fetched]: include: the remote file `https://example.com/base.yml` is not fetched: the URL is not among the known files
     --> .gitlab-ci.yml:3:13
      |
    3 |   - remote: https://example.com/base.yml
      |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: anything it may define is not reported as missing
    ");
}
