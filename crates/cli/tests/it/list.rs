//! `runwright list` and `runwright lint`.

use crate::project::Project;

const PIPELINE: &str = "\
image: alpine:3
variables: {A: top}
build:
  stage: build
  script: make
test:
  needs: [build]
  variables: {B: own}
  script: [make test]
";

#[test]
fn jobs_are_listed_in_the_order_of_their_stages() {
    let project = Project::with_pipeline(PIPELINE);
    let listed = project.runwright(&["list"]).expect_code(0).stdout;
    let at = |name: &str| {
        listed
            .find(name)
            .unwrap_or_else(|| panic!("{name} in {listed}"))
    };
    assert!(at("build") < at("test"));
}

#[test]
fn the_list_stands_in_columns_and_acts_on_no_terminal() {
    let project = Project::with_pipeline(
        "日本語 🦀: {script: [a], stage: build}\n\"a\\e[2J\": {script: [a]}\nlast: {script: [a], needs: [\"a\\e[2J\"]}\n",
    );
    let listed = project.runwright(&["list"]).expect_code(0).stdout;
    insta::assert_snapshot!(listed, @r#"
    日本語 🦀  build
    a          test
    last       test   needs a
    "#);
}

#[test]
fn the_json_list_has_the_normalized_shape() {
    let project = Project::with_pipeline(PIPELINE);
    let listed = project.runwright(&["list", "--json"]).expect_code(0).stdout;
    let jobs: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let test = &jobs[1];
    assert_eq!(test["name"], "test");
    assert_eq!(test["image"], serde_json::json!({"name": "alpine:3"}));
    assert_eq!(
        test["needs"],
        serde_json::json!([{"job": "build", "artifacts": true, "optional": false}])
    );
    assert_eq!(
        test["variables"],
        serde_json::json!({"A": "top", "B": "own"})
    );
    assert_eq!(test["job_variables"], serde_json::json!({"B": "own"}));
    assert_eq!(test["script"], serde_json::json!(["make test"]));
    assert_eq!(test["retry"], serde_json::Value::Null);
}

#[test]
fn lint_says_what_is_wrong_and_where() {
    let project = Project::with_pipeline("job:\n  stage: tset\n  script: [\"true\"]\n");
    let done = project.runwright(&["lint"]).expect_code(2);
    assert!(done.all().contains(".gitlab-ci.yml:2:"), "{}", done.all());
    assert!(
        done.all().contains("stage: tset"),
        "the line is shown: {}",
        done.all()
    );

    let report = project.runwright(&["lint", "--json"]).expect_code(2).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["valid"], false);
    let error = &report["errors"][0];
    assert_eq!(error["line"], 2);
    for key in ["code", "message", "file", "line", "column", "help"] {
        assert!(error.get(key).is_some(), "{key} in {error}");
    }
}

#[test]
fn warnings_count_when_lint_is_strict() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n  script: [\"false\"]\n");
    let done = project.runwright(&["lint", "--json"]).expect_code(0);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(report["valid"], true);
    assert!(
        !report["warnings"].as_array().unwrap().is_empty(),
        "{report}"
    );
    project.runwright(&["lint", "--strict"]).expect_code(2);
    let clean = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    clean.runwright(&["lint", "--strict"]).expect_code(0);
}

#[test]
fn lint_answers_in_json_also_when_there_is_no_file() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    let report = project
        .runwright(&["lint", "--json", "-f", "no.yml"])
        .expect_code(2)
        .stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["valid"], false);
    assert_eq!(report["errors"][0]["file"], "no.yml");
}
