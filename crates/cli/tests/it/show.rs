//! `runwright show`.

use crate::project::Project;
use serde_json::{Value, json};

const PIPELINE: &str = "\
.base:
  image: ruby:3.2
  variables: {MODE: '0755'}
test:
  extends: .base
  script: [make test, 'yes']
";

#[test]
fn merged_file_shows_the_origin_of_each_value() {
    let project = Project::with_pipeline(PIPELINE);
    let done = project.runwright(&["show"]).expect_code(0);
    insta::assert_snapshot!(done.stdout, @r#"
    .base:  # .gitlab-ci.yml:1 (.base)
      image: ruby:3.2  # .gitlab-ci.yml:2 (.base)
      variables:  # .gitlab-ci.yml:3 (.base)
        MODE: "0755"  # .gitlab-ci.yml:3 (.base)

    test:  # .gitlab-ci.yml:4 (test)
      image: ruby:3.2  # .gitlab-ci.yml:2 (.base)
      variables:  # .gitlab-ci.yml:3 (.base)
        MODE: "0755"  # .gitlab-ci.yml:3 (.base)
      extends: .base  # .gitlab-ci.yml:5 (test)
      script:  # .gitlab-ci.yml:6 (test)
        - make test
        - "yes"
    "#);
}

#[test]
fn values_without_origins_are_a_valid_pipeline_file() {
    let project = Project::with_pipeline(PIPELINE);
    let shown = project.runwright(&["show", "--no-origins"]).expect_code(0);
    assert!(!shown.stdout.contains('#'), "{}", shown.stdout);
    let config = |file: &str| -> Value {
        let done = project.runwright(&["show", "--format", "json", "-f", file]);
        serde_json::from_str(&done.expect_code(0).stdout).unwrap()
    };
    project.write("merged.yml", &shown.stdout);
    assert_eq!(config("merged.yml"), config(".gitlab-ci.yml"));
    assert_eq!(config("merged.yml")["test"]["image"], "ruby:3.2");
}

#[test]
fn json_origins_are_beside_the_values() {
    let project = Project::with_pipeline(PIPELINE);
    let done = project.runwright(&["show", "--json", "--origins"]);
    let shown: Value = serde_json::from_str(&done.expect_code(0).stdout).unwrap();
    assert_eq!(
        shown["config"]["test"]["variables"],
        json!({"MODE": "0755"})
    );
    let origins = shown["origins"].as_object().unwrap();
    let expect = json!({"file": ".gitlab-ci.yml", "line": 2, "column": 10, "key": ".base"});
    assert_eq!(origins["/test/image"], expect);
    assert_eq!(origins["/test/script/1"]["line"], 6);
    for pointer in origins.keys() {
        assert!(shown["config"].pointer(pointer).is_some(), "{pointer}");
    }
}

#[test]
fn file_with_mistakes_is_shown_as_far_as_possible() {
    let project = Project::with_pipeline("job:\n  stage: tset\n  script: [a]\n");
    let done = project.runwright(&["show", "--no-origins"]).expect_code(2);
    assert_eq!(done.stdout, "job:\n  stage: tset\n  script:\n    - a\n");
    assert!(
        done.stderr.contains(" --> .gitlab-ci.yml:2:10"),
        "{}",
        done.stderr
    );
    let broken = Project::with_pipeline("job: [\n");
    let done = broken.runwright(&["show"]).expect_code(2);
    assert_eq!(done.stdout, "");
}

#[test]
fn single_jobs_are_shown() {
    let project = Project::with_pipeline(
        ".base: {image: a}\na: {extends: .base, script: x}\nb 1: {script: x}\n\
         m: {script: x, parallel: {matrix: [{OS: [d, e]}]}}\n",
    );
    let check = |jobs: &[&str], expect: &[&str]| {
        let words = [&["show", "--json"], jobs].concat();
        let shown = project.runwright(&words).expect_code(0).stdout;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let names: Vec<&str> = shown
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(names, expect, "{jobs:?}");
    };
    check(&["a"], &["a"]);
    check(&["m: [d]", "b*", ".base"], &[".base", "b 1", "m"]);
    let shown = project.runwright(&["show", "a", "--no-origins"]);
    assert_eq!(
        shown.expect_code(0).stdout,
        "a:\n  image: a\n  extends: .base\n  script: x\n"
    );
    let refused = project.runwright(&["show", "c"]);
    refused.expect_code(2).expect_text("there is no job `c`");
}
