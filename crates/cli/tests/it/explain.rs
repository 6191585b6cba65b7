//! `runwright explain`: verdicts, values, origins, and the values it withholds.

use crate::project::Project;
use serde_json::{Value, json};

const BASE: &str = "\
.base:
  image: ruby:3.2
  variables: {MODE: base, LEVEL: base}
";

const PIPELINE: &str = "\
include: ci/base.yml
default: {retry: 1}
variables: {MODE: global}
test:
  extends: .base
  parallel: 2
  variables: {MODE: own}
  rules:
    - if: $CI_COMMIT_TAG
    - if: $CI_COMMIT_BRANCH == \"main\" && $TOKEN
      when: manual
      variables: {MODE: of-rule}
    - changes: [never]
  script: [make]
other: {script: [make]}
";

fn project() -> Project {
    let project = Project::with_pipeline(PIPELINE);
    project.write("ci/base.yml", BASE);
    project
}

/// Explains with a secret in the environment, which no output may contain.
fn explained(project: &Project, arguments: &[&str]) -> String {
    let arguments = [&["explain"], arguments, &["--secret", "TOKEN"]].concat();
    let output = project
        .command(&arguments)
        .env("TOKEN", "s3cr3t-w0rd")
        .output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("s3cr3t-w0rd"), "{text}");
    text
}

#[test]
fn conditions_of_a_job_are_reported() {
    let check = |conditions: &str, expect: &str| {
        let pipeline = format!("job: {{script: [make], {conditions}}}\n");
        let text = explained(&Project::with_pipeline(&pipeline), &["job"]);
        let line = format!("in the pipeline: {expect}\n");
        assert!(text.contains(&line), "{conditions}: {text}");
    };
    check("", "it has no conditions, so it runs for branches and tags");
    check("only: [main]", "its `only` includes it");
    check("except: [tags]", "its `except` does not exclude it");
    check(
        "only: [main], except: [tags]",
        "its `only` and `except` include it",
    );
    check("rules: [{if: $CI}]", "its rule 1 matches");
}

#[test]
fn job_is_explained_from_rules_to_variables() {
    let text = explained(&project(), &["test 1/2"]);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    insta::assert_snapshot!(text, @r#"
    test 1/2 in stage test, .gitlab-ci.yml:4
      1 of the 2 copies of `test`
      in the pipeline: its rule 2 matches
      starts by hand, once the jobs of all earlier stages have succeeded; the
        pipeline waits for it

    rules
      no  1. does not match                                         .gitlab-ci.yml:9
         no  if $CI_COMMIT_TAG
             $CI_COMMIT_TAG is not set
      yes 2. matches, so it decides                                .gitlab-ci.yml:10
         yes if $CI_COMMIT_BRANCH == "main" && $TOKEN
             $CI_COMMIT_BRANCH == "main" ("main" == "main") is true
             $TOKEN is [MASKED]
             sets when: manual, variables: MODE
      -   3. is not evaluated                                      .gitlab-ci.yml:13

    keywords
      image         ruby:3.2                                    .base, ci/base.yml:2
      extends       .base                                           .gitlab-ci.yml:5
      parallel      2                                               .gitlab-ci.yml:6
      script        ["make"]                                       .gitlab-ci.yml:14
      retry         1                                      default, .gitlab-ci.yml:2
      when          manual                                   rule, .gitlab-ci.yml:10

    variables
      MODE = of-rule                                         rule, .gitlab-ci.yml:12
        wins over test, .gitlab-ci.yml:7; global, .gitlab-ci.yml:3
      LEVEL = base                                              .base, ci/base.yml:3
      TOKEN = [MASKED]                                             project, --secret
      and GitLab's own: --predefined shows them
    "#);
}

#[test]
fn name_in_the_file_selects_all_parallel_instances() {
    let project = project();
    let json: Value =
        serde_json::from_str(&explained(&project, &["test", "other", "--json"])).unwrap();
    let names: Vec<_> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|job| &job["job"])
        .collect();
    assert_eq!(names, ["test 1/2", "test 2/2", "other"]);
    let mode = json[0]["variables"].as_array().unwrap().iter();
    let mode = mode
        .clone()
        .find(|variable| variable["name"] == "MODE")
        .unwrap();
    assert_eq!(mode["value"], "of-rule");
    assert_eq!(mode["shadows"].as_array().unwrap().len(), 2, "{mode}");
    let token = json[0]["variables"].as_array().unwrap().iter();
    let token = token
        .clone()
        .find(|variable| variable["name"] == "TOKEN")
        .unwrap();
    assert_eq!(token["value"], "[MASKED]");
}

#[test]
fn every_keyword_and_variable_has_an_origin() {
    let json = explained(&project(), &["test 1/2", "--json", "--predefined"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let fields = json[0]["fields"].as_array().unwrap();
    let of = |key: &str| {
        let field = fields.iter().find(|field| field["key"] == key);
        field.unwrap_or_else(|| panic!("{key} in {json}"))
    };
    assert_eq!(of("image")["place"]["file"], "ci/base.yml");
    assert_eq!(of("image")["place"]["line"], 2);
    assert_eq!(of("retry")["source"], "default");
    assert_eq!(of("script")["place"]["line"], 14);
    for field in fields {
        assert!(field["place"]["line"].as_u64() > Some(0), "{field}");
    }
}

#[test]
fn long_values_are_truncated_in_text_and_complete_in_json() {
    let word = "x".repeat(200);
    let project = Project::with_pipeline(&format!("job: {{script: [{word}, '{word}']}}\n"));
    let json = project.runwright(&["explain", "job", "--json"]);
    let json: Value = serde_json::from_str(&json.expect_code(0).stdout).unwrap();
    assert_eq!(json[0]["fields"][0]["value"], json!([word, word]));
    let text = project.runwright(&["explain", "job"]).expect_code(0).stdout;
    assert!(!text.contains(&word), "{text}");
    let is_wide = |line: &&str| line.chars().count() > 80;
    assert_eq!(text.lines().find(is_wide), None);
}

#[test]
fn a_job_whose_rule_cannot_be_evaluated_is_explained_like_the_pipeline() {
    let rules = "rules: [{changes: {paths: [x], compare_to: gone}}]";
    let project = Project::with_pipeline(&format!("a: {{script: x, {rules}}}\n"));
    let text = explained(&project, &["a"]);
    insta::assert_snapshot!(text, @"
    a in stage test, .gitlab-ci.yml:1
      not in the pipeline: rules:changes:compare_to names `gone`, which is not a
        branch, tag or commit here

    rules
      -   1. cannot be evaluated                                    .gitlab-ci.yml:1
         -   changes x compared to gone
             rules:changes:compare_to names `gone`, which is not a branch, tag or
               commit here

    keywords
      script        x                                               .gitlab-ci.yml:1

    variables
      TOKEN = [MASKED]                                             project, --secret
      and GitLab's own: --predefined shows them
    ");
}

#[test]
fn excluded_job_is_explained_too() {
    let text = explained(
        &project(),
        &["test 1/2", "--branch", "feature", "--changes", "a"],
    );
    assert!(
        text.contains("not in the pipeline: none of its rules matches"),
        "{text}"
    );
}

#[test]
fn unknown_job_is_answered_with_the_closest_name_and_all_names() {
    let project = project();
    for command in ["explain", "run", "list"] {
        let done = project.runwright(&[command, "oter"]).expect_code(2);
        assert_eq!(done.stdout, "", "{command}");
        done.expect_text("there is no job `oter`; did you mean `other`?")
            .expect_text("help: the jobs are ");
    }
}
