//! `runwright list`.

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
fn list_is_in_columns_and_free_of_control_characters() {
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
fn json_list_has_the_normalized_shape() {
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
fn json_list_of_all_jobs_marks_those_left_out() {
    let project = Project::with_pipeline(
        "a: {script: x, environment: review/$CI_COMMIT_REF_NAME}\n\
         b: {script: x, when: manual, rules: [{if: $NO}]}\n\
         c: {script: x, rules: [{if: $CI_COMMIT_BRANCH, when: never}, {when: always}]}\n",
    );
    let list = project.runwright(&["list", "--json", "--all"]);
    let jobs: serde_json::Value = serde_json::from_str(&list.expect_code(0).stdout).unwrap();
    let marks = |at: usize| (jobs[at]["when"].as_str(), jobs[at]["left_out"].as_str());
    assert_eq!(marks(0), (Some("on_success"), None));
    assert_eq!(marks(1), (Some("never"), Some("none of its rules matches")));
    let by_rule = "its rule 1 matches with `when: never`";
    assert_eq!(marks(2), (Some("never"), Some(by_rule)));
    assert_eq!(jobs[0]["environment"]["name"], "review/main");
    let plan = project.runwright(&["plan"]).expect_code(0).stdout;
    assert!(plan.contains("environment review/main"), "{plan}");
}

#[test]
fn list_of_all_jobs_says_that_the_workflow_leaves_them_out() {
    let project = Project::with_pipeline(
        "workflow: {rules: [{if: $NONE}]}\n\
         a: {script: x}\n\
         b: {script: x, rules: [{if: $NONE}]}\n",
    );
    let list = project.runwright(&["list", "--all"]).expect_code(0);
    insta::assert_snapshot!(list.stdout, @r"
    a  test  left out: `workflow:rules` prevent the pipeline
    b  test  left out: none of its rules matches
    ");
    let list = project.runwright(&["list", "--all", "--json"]);
    let jobs: serde_json::Value = serde_json::from_str(&list.expect_code(0).stdout).unwrap();
    assert_eq!(jobs[0]["when"], "never");
    assert_eq!(jobs[0]["left_out"], "`workflow:rules` prevent the pipeline");
    let project = Project::with_pipeline("a: {stage: .pre, script: x}\n");
    let list = project.runwright(&["list", "--all"]).expect_code(0).stdout;
    assert_eq!(list, "a  .pre  left out: the other stages have no job\n");
}

#[test]
fn list_says_where_changes_decided() {
    let project = Project::with_pipeline(
        "a: {script: x, rules: [{if: $CI, changes: [docs/*]}]}\n\
         b: {script: x, rules: [{if: $NONE, changes: [docs/*]}, {changes: [src/*]}]}\n\
         c: {script: x, rules: [{if: $CI}, {changes: [src/*]}]}\n",
    );
    let list = |options: &[&str]| {
        let words = [&["list", "--all"], options].concat();
        project.runwright(&words).expect_code(0).stdout
    };
    insta::assert_snapshot!(list(&[]), @r"
    a  test  changes of rule 1: the changed files are unknown here, so the condition counts as true
    b  test  changes of rule 2: the changed files are unknown here, so the condition counts as true
    c  test
    ");
    insta::assert_snapshot!(list(&["--changes", "docs/x", "README"]), @r"
    a  test  changes of rule 1: `docs/x` matches `docs/*`
    b  test  left out: none of its rules matches; changes of rule 2: none of 2 files matches
    c  test
    ");
}

#[test]
fn csv_list_is_that_of_gitlab_ci_local() {
    let project = Project::with_pipeline(
        "build: {stage: build, script: x, allow_failure: {exit_codes: [1, 42]}}\n\
         \"a;b\": {script: x, when: delayed, start_in: 5 min, needs: [build], environment: qa}\n\
         never: {script: x, needs: [], rules: [{if: $NONE}]}\n",
    );
    let list = |options: &[&str]| {
        let words = [&["list", "--csv"], options].concat();
        project.runwright(&words).expect_code(0).stdout
    };
    let short = "name;stage;when;allowFailure;environment;needs\n\
                 build;build;on_success;[1,42];;\n\
                 \"a;b\";test;delayed;false;qa;[build]\n";
    assert_eq!(list(&[]), short);
    let all = format!("{short}never;test;never;false;;[]\n");
    assert_eq!(list(&["--all"]), all);
}

#[test]
fn commit_that_skips_the_pipeline_is_noted() {
    let project = Project::with_pipeline("a: {script: 'true'}\n");
    let reports = |arguments: &[&str]| {
        let done = project.runwright(arguments).expect_code(0);
        done.all()
            .contains("note: the commit message has `[ci skip]`")
    };
    assert!(!reports(&["list"]));
    project.git(&["commit", "--quiet", "--allow-empty", "-m", "wip [skip-ci]"]);
    for arguments in [
        &["list"][..],
        &["plan", "--json"],
        &["run", "--dry-run"],
        &["run"],
    ] {
        assert!(reports(arguments), "{arguments:?}");
    }
    assert!(!reports(&["plan", "--source", "web"]));
}

#[test]
fn list_without_files_that_cannot_be_fetched_is_partial() {
    let project = Project::with_pipeline(
        "include: [{remote: https://gitlab.example/ci.yml}, ci/own.yml]\n\
         job: {extends: .far, stage: far, needs: [other], script: x}\n",
    );
    project.write("ci/own.yml", "own: {script: x}\n");
    project
        .runwright(&["list", "--offline"])
        .expect_code(2)
        .expect_text("error[include-not-fetched]");
    let done = project.runwright(&["list", "--offline", "--partial"]);
    let done = done
        .expect_code(0)
        .expect_text("warning[include-not-fetched]");
    assert!(done.stdout.contains("own  test\n"), "{done:?}");
    assert!(done.stdout.contains("job  far   needs other\n"), "{done:?}");
    // A file of the project itself is a mistake.
    project.write(".gitlab-ci.yml", "include: none.yml\njob: {script: x}\n");
    let done = project.runwright(&["list", "--partial"]);
    done.expect_code(2).expect_text("none.yml");
}

#[test]
fn exit_codes_with_which_a_job_may_fail_are_shown() {
    let project = Project::with_pipeline(
        "a: {script: x, allow_failure: {exit_codes: [3, 4]}}\n\
         b: {script: x, allow_failure: {exit_codes: 3}}\n",
    );
    let list = project.runwright(&["list"]).expect_code(0).stdout;
    insta::assert_snapshot!(list, @"
    a  test  may fail with exit code 3 or 4
    b  test  may fail with exit code 3
    ");
    project
        .runwright(&["plan"])
        .expect_code(0)
        .expect_text("a  on_success  may fail with exit code 3 or 4");
}
