//! What is said of wrong includes, and of files that are not there.

use super::{check, check_refused, load, messages};
use serde_json::json;

#[test]
fn what_is_no_include_is_refused_where_it_stands() {
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
fn a_file_that_is_not_there_is_named_with_the_nearest_one_that_is() {
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
fn mistakes_are_shown_in_the_included_file_and_where_it_came_from() {
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
fn what_is_not_fetched_is_said_once_and_what_it_may_define_is_not_missed() {
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
    // A real mistake shows all the same.
    let expect = [
        "include-not-fetched",
        "include-not-fetched",
        "unknown-keyword",
    ];
    assert_eq!(errors, expect, "{found}");
    insta::assert_snapshot!(found.render(found.errors().next().unwrap()), @r"
    error[include-not-fetched]: include: the remote file `https://example.com/base.yml` is not fetched: the address is not among the files given beforehand
     --> .gitlab-ci.yml:3:13
      |
    3 |   - remote: https://example.com/base.yml
      |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: what it might define is not reported as missing
    ");
}
