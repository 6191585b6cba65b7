//! `runwright variables`: a job's variables, their origins, and withheld values.

use crate::project::Project;
use serde_json::Value;
use std::collections::HashMap;

const PIPELINE: &str = "\
variables: {MODE: global, TEXT: '$MODE of $TOKEN', WHERE: $CI_PROJECT_DIR/out}
deploy:
  parallel: {matrix: [{SIDE: [a, b]}]}
  environment: production
  variables: {MODE: own, NOTE: \"two\\nlines of $MODE\"}
  rules: [{if: $CI_COMMIT_BRANCH, variables: {MODE: of-rule}}]
  script: [env -0 > all.txt]
  artifacts: {paths: [all.txt]}
";

const GIVEN: &str = "\
URL: {values: {'*': everywhere, production: of-production, 'review/*': of-review}}
SAFE: {value: pr0tected-v4lue, protected: true}
";

fn project() -> Project {
    let project = Project::with_pipeline(PIPELINE);
    project.write(".gitlab-ci-local-variables.yml", GIVEN);
    project
}

/// Runs the command with a secret in the environment, which no output may contain.
fn shown(project: &Project, arguments: &[&str]) -> String {
    let arguments = [arguments, &["--secret", "TOKEN"]].concat();
    let output = project
        .command(&arguments)
        .env("TOKEN", "s3cr3t-w0rd")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}\n{errors}");
    for secret in ["s3cr3t-w0rd", "of-production", "pr0tected-v4lue"] {
        assert!(!text.contains(secret), "{secret} in {text}");
        assert!(!errors.contains(secret), "{secret} in {errors}");
    }
    text
}

/// Returns the text without GitLab's predefined variables.
fn without_predefined(text: &str) -> String {
    let is_first = |line: &&str| line.trim_start().starts_with("CI = ");
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines.iter().position(is_first).unwrap();
    let end = lines.iter().position(|line| line.is_empty());
    let rest = &lines[end.unwrap_or(lines.len())..];
    [&lines[..begin], rest].concat().join("\n")
}

#[test]
fn variables_of_a_job_are_shown_by_precedence() {
    let text = shown(&project(), &["variables", "deploy: [b]"]);
    insta::assert_snapshot!(without_predefined(&text), @r#"
    URL = [MASKED]
    TOKEN = [MASKED]
    MODE = of-rule
    SIDE = b
    NOTE = "two\nlines of of-rule"
    TEXT = [MASKED]
    WHERE = $CI_PROJECT_DIR/out
    "#);
    let text = shown(&project(), &["variables"]);
    insta::assert_snapshot!(without_predefined(&text), @r"
    URL = [MASKED]
    TOKEN = [MASKED]
    MODE = global
    TEXT = [MASKED]
    WHERE = $CI_PROJECT_DIR/out
    ");
}

#[test]
fn each_variable_has_an_origin_and_each_excluded_one_a_reason() {
    let text = shown(&project(), &["variables", "deploy: [b]", "--explain"]);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    insta::assert_snapshot!(without_predefined(&text), @r#"
    deploy: [b]
      URL = [MASKED]        project, .gitlab-ci-local-variables.yml:1 for production
        wins over project, .gitlab-ci-local-variables.yml:1
      TOKEN = [MASKED]                                             project, --secret
      MODE = of-rule                                          rule, .gitlab-ci.yml:6
        wins over deploy, .gitlab-ci.yml:5; global, .gitlab-ci.yml:1
      SIDE = b                                              matrix, .gitlab-ci.yml:3
      NOTE = "two\nlines of $MODE"                          deploy, .gitlab-ci.yml:5
        expands to "two\nlines of of-rule"
      TEXT = $MODE of $TOKEN                                global, .gitlab-ci.yml:1
        expands to [MASKED]
      WHERE = $CI_PROJECT_DIR/out                           global, .gitlab-ci.yml:1

    left out
      URL                     project, .gitlab-ci-local-variables.yml:1 for review/*
        is for other environments
      SAFE                                 project, .gitlab-ci-local-variables.yml:2
        is for protected branches and tags, and this one is not protected
    "#);
}

#[test]
fn name_of_several_jobs_selects_all_of_them() {
    let json: Value =
        serde_json::from_str(&shown(&project(), &["variables", "deploy", "--json"])).unwrap();
    let names: Vec<_> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["job"])
        .collect();
    assert_eq!(names, ["deploy: [a]", "deploy: [b]"]);
    assert_eq!(json[0]["left_out"][0]["name"], "URL");
    assert_eq!(json[0]["left_out"][0]["reason"], "scope");
    let text = shown(&project(), &["variables", "deploy"]);
    assert!(text.contains("\n\ndeploy: [b]\nURL = "), "{text}");
    let done = project().runwright(&["variables", "deply"]).expect_code(2);
    done.expect_text("did you mean `deploy`?");
}

#[test]
fn shown_variables_are_those_the_job_receives() {
    let project = project();
    shown(&project, &["run", "deploy: [b]"]);
    let json = shown(&project, &["variables", "deploy: [b]", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let objects = crate::project::files_below(&project.home().join("content/objects"));
    let all = objects.iter().find(|path| path.is_file());
    let all = std::fs::read_to_string(all.expect("the job's artifact")).unwrap();
    let got: HashMap<&str, &str> = all
        .split('\0')
        .filter_map(|variable| variable.split_once('='))
        .collect();
    // Ids and times differ between runs.
    let of_run = ["_ID", "_IID", "_URL", "_CREATED_AT"];
    let mut compared = 0;
    for variable in json[0]["variables"].as_array().unwrap() {
        let name = variable["name"].as_str().unwrap();
        let value = variable["expanded"].as_str();
        let value = value.unwrap_or_else(|| variable["value"].as_str().unwrap());
        let is_known = value != "[MASKED]" && !value.contains("$CI_PROJECT_DIR");
        if is_known && !of_run.iter().any(|end| name.ends_with(end)) {
            assert_eq!(got.get(name), Some(&value), "of {name}");
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
    assert_eq!(got["URL"], "of-production");
    assert_eq!(got.get("SAFE"), None);
}

#[test]
fn variables_are_shown_without_a_pipeline_too() {
    let project = project();
    let check = |more: &str, code: i32, reason: &str| {
        project.write(".gitlab-ci.yml", &format!("{PIPELINE}{more}"));
        let done = project.runwright(&["variables", "deploy: [a]"]);
        let done = done.expect_code(code);
        assert!(done.stdout.contains("MODE = of-rule"), "{}", done.stdout);
        assert!(done.stderr.contains(reason), "{}", done.stderr);
    };
    check("workflow: {rules: [{when: never}]}\n", 0, "workflow");
    let needs = "gone: {script: x, rules: [{when: never}]}\nb: {script: x, needs: [gone]}\n";
    check(needs, 2, "gone");
}
