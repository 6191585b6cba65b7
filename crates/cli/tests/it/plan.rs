//! `runwright plan` and `list` in various situations and all formats; neither runs anything.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive other programs from outside"
)]

use crate::project::Project;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

const PIPELINE: &str = "\
stages: [build, test, ship]
workflow:
  name: all of $CI_COMMIT_REF_NAME
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
    - if: $CI_COMMIT_TAG
    - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"
build: {stage: build, script: [make]}
docs:
  stage: test
  needs: []
  rules: [{changes: [docs/*]}]
  script: [make docs]
\"te\\\"st\": {stage: test, needs: [build], script: [make test]}
ship:
  stage: ship
  environment: production
  rules:
    - if: $CI_COMMIT_TAG
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
      when: manual
      allow_failure: true
  script: [make ship]
";

fn json(project: &Project, arguments: &[&str], code: i32) -> Value {
    let done = project.runwright(arguments).expect_code(code);
    serde_json::from_str(&done.stdout).unwrap()
}

fn names(plan: &Value) -> Vec<&str> {
    let jobs = plan["jobs"].as_array().unwrap().iter();
    jobs.map(|job| job["name"].as_str().unwrap()).collect()
}

#[test]
fn table_shows_the_jobs_of_a_situation() {
    let project = Project::with_pipeline(PIPELINE);
    let done = project.runwright(&["plan", "--changes"]).expect_code(0);
    insta::assert_snapshot!(done.stdout, @r#"
    all of main, branch main (push): 3 of 4 jobs
    stage build
      build  on_success
    stage test
      te"st  on_success  needs build
    stage ship
      ship   manual      may fail; environment production; rule 2: if $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
    left out
      docs: none of its rules matches
    "#);
}

#[test]
fn a_need_that_rules_leave_out_is_shown_with_both_lines() {
    let project = Project::with_pipeline(
        "a:\n  script: x\n  rules:\n    - if: $CI_COMMIT_BRANCH == \"dev\"\nb:\n  script: x\n  needs: [a]\n",
    );
    let done = project.runwright(&["run"]).expect_code(2);
    insta::assert_snapshot!(done.stderr, @r#"
    error: no pipeline is created: `b` needs `a`, which is not in the pipeline
     --> .gitlab-ci.yml:7:11
      |
    4 |     - if: $CI_COMMIT_BRANCH == "dev"
      |           -------------------------- leaves `a` out: $CI_COMMIT_BRANCH is "main"
    ...
    7 |   needs: [a]
      |           ^ needs `a`
      |
      = help: with `optional: true`, the need is dropped when rules leave `a` out: `needs: [{job: a, optional: true}]`
    "#);
    assert_eq!(done.stdout, "");
    project
        .runwright(&["plan"])
        .expect_code(2)
        .expect_text("needs `a`");
}

#[test]
fn no_pipeline_is_answered_with_a_situation_that_has_one() {
    let project = Project::with_pipeline(
        "workflow:\n  rules:\n    - if: $CI_COMMIT_TAG =~ /^v/\n    - if: $CI_COMMIT_BRANCH == \"dev\"\n\
         a: {script: 'true'}\n",
    );
    let done = project.runwright(&["run"]).expect_code(0);
    insta::assert_snapshot!(done.stderr, @r#"
    no pipeline is created: no rule of `workflow` matches
     --> .gitlab-ci.yml:3:11
      |
    3 |     - if: $CI_COMMIT_TAG =~ /^v/
      |           ^^^^^^^^^^^^^^^^^^^^^^ $CI_COMMIT_TAG is not set
    4 |     - if: $CI_COMMIT_BRANCH == "dev"
      |           -------------------------- $CI_COMMIT_BRANCH is "main"
      |
      = help: `runwright run --tag v1.0.0` creates a pipeline
    "#);
    project
        .runwright(&["run", "--tag", "v1.0.0"])
        .expect_code(0);

    let constant = "a: {script: 'true', rules: [{if: '\"prod\" == \"dev\"'}]}\n";
    let done = Project::with_pipeline(constant).runwright(&["plan"]);
    assert!(done.all().contains("it never matches"), "{}", done.all());

    // The only situation may be named by a condition, and a job may be left out alone.
    let check = |rule: &str, arguments: &[&str], code: i32, command: &str| {
        let pipeline = format!(
            "a: {{script: 'true', rules: [{rule}]}}\nb: {{script: 'true', stage: .post}}\n"
        );
        let project = Project::with_pipeline(&pipeline);
        let done = project.runwright(arguments).expect_code(code);
        let all = done.all();
        assert!(all.contains(&format!("`{command}`")), "{all}");
        let words = command.strip_prefix("runwright ").unwrap().split(' ');
        let words: Vec<&str> = words.collect();
        let done = project.runwright(&words).expect_code(0);
        assert!(
            !done.all().contains("no pipeline is created"),
            "{}",
            done.all()
        );
    };
    let of_dev = "{if: $CI_COMMIT_BRANCH == \"dev\"}";
    check(of_dev, &["plan"], 0, "runwright plan --branch dev");
    check(of_dev, &["run", "a"], 2, "runwright run a --branch dev");
    check(
        "{if: $CI_MERGE_REQUEST_IID}",
        &["list"],
        0,
        "runwright list --mr --target main",
    );
    check(
        "{if: $CI_PIPELINE_SOURCE == \"web\"}",
        &["run"],
        0,
        "runwright run --source web",
    );
    check(
        "{if: $CI_COMMIT_BRANCH =~ /^release-/}",
        &["run"],
        0,
        "runwright run --branch release-1",
    );
    check(
        "{if: '$CI_MERGE_REQUEST_SOURCE_BRANCH_NAME =~ /^(fix|feature)\\/\\d+$/'}",
        &["list"],
        0,
        "runwright list --mr --branch fix/1",
    );
    let text = "a: {script: x, RULES}\nb: {script: x, stage: .post, only: [main]}\n";
    let of = |rules: &str| Project::with_pipeline(&text.replace("RULES", rules));
    of("only: [/^ship-.*$/, schedules]")
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("`runwright run --source schedule`");
    of("only: [/^ship-.*$/]")
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("`runwright run --branch ship-1`");
    of("rules: [{if: '$CI_COMMIT_TAG =~ /^[A-Z]+-\\d+$/'}]")
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("help: try `--tag` with a tag that `/^[A-Z]+-\\d+$/` matches");
}

#[test]
fn each_situation_has_its_jobs() {
    let project = Project::with_pipeline(PIPELINE);
    let check = |options: &[&str], expect: &[&str]| {
        let arguments = [&["plan", "--json"], options].concat();
        let plan = json(&project, &arguments, 0);
        assert_eq!(names(&plan), expect, "{options:?}");
        assert_eq!(plan["created"], !expect.is_empty(), "{options:?}");
    };
    check(&["--changes"], &["build", "te\"st", "ship"]);
    check(
        &["--changes", "docs/a"],
        &["build", "docs", "te\"st", "ship"],
    );
    check(
        &["--tag", "v1", "--changes", "a"],
        &["build", "te\"st", "ship"],
    );
    check(
        &["--mr", "--changes", "docs/a"],
        &["build", "docs", "te\"st"],
    );
    check(&["--branch", "other"], &[]);
    check(
        &[
            "--branch",
            "other",
            "--default-branch",
            "other",
            "--changes",
        ],
        &["build", "te\"st", "ship"],
    );
}

#[test]
fn json_plan_has_name_variables_and_normalized_jobs() {
    let project = Project::with_pipeline(PIPELINE);
    let plan = json(&project, &["plan", "--json", "--tag", "v1"], 0);
    for key in ["created", "reason", "name", "stages", "variables", "jobs"] {
        assert!(plan.get(key).is_some(), "{key} in {plan}");
    }
    assert_eq!(plan["name"], "all of v1");
    assert_eq!(plan["reason"], Value::Null);
    let ship = plan["jobs"].as_array().unwrap().last().unwrap();
    assert_eq!(ship["when"], "on_success");
    assert_eq!(ship["environment"]["name"], "production");
    let ship = json(&project, &["plan", "--json"], 0)["jobs"]
        .as_array()
        .unwrap()
        .last()
        .cloned();
    assert_eq!(ship.unwrap()["when"], "manual");
}

#[test]
fn long_lists_of_files_are_shortened() {
    let project = Project::with_pipeline(
        "a: {script: [x], rules: [{changes: [a, b, c/*]}]}\nb: {script: [x], rules: [{exists: [nope, a]}, {changes: [a, b]}]}\n",
    );
    let done = project.runwright(&["plan"]).expect_code(0);
    insta::assert_snapshot!(done.stdout, @r"
    branch main (push): 2 of 2 jobs
    stage test
      a  on_success  rule 1: changes a and 2 more
      b  on_success  rule 2: changes a, b
    ");
}

#[test]
fn every_job_in_json_has_the_same_fields() {
    let fields = "name stage when allow_failure allow_failure_exit_codes script before_script \
                  after_script image services artifacts retry trigger release dependencies \
                  start_in hooks environment pages timeout_seconds cache parallel_total node_index \
                  needs needs_cross tags coverage only except rules interruptible resource_group \
                  scheduling id_tokens inputs job_variables variables";
    let fields: BTreeSet<&str> = fields.split(' ').collect();
    let project = Project::with_pipeline(PIPELINE);
    let plan = json(&project, &["plan", "--json"], 0);
    for job in plan["jobs"].as_array().unwrap() {
        let job = job.as_object().unwrap();
        let keys: BTreeSet<&str> = job.keys().map(String::as_str).collect();
        assert_eq!(keys, fields);
    }
}

#[test]
fn empty_pipeline_is_a_success_and_an_invalid_one_an_error() {
    let project = Project::with_pipeline(PIPELINE);
    for command in ["plan", "list"] {
        let done = project
            .runwright(&[command, "--branch", "other"])
            .expect_code(0);
        assert!(
            done.all().contains("no pipeline is created"),
            "{}",
            done.all()
        );
    }
    let missing = Project::with_pipeline(
        "a: {script: x, rules: [{if: $NOPE}]}\nb: {script: x, needs: [a]}\n",
    );
    let plan = json(&missing, &["plan", "--json"], 2);
    assert_eq!(plan["created"], false);
    assert_eq!(plan["reason"], "seed_error");
    missing
        .runwright(&["plan"])
        .expect_code(2)
        .expect_text("`a`");
}

#[test]
fn excluded_jobs_are_listed_with_the_reason() {
    let project = Project::with_pipeline(&format!(
        "{PIPELINE}# @Description Last\nlast: {{script: x, rules: [{{when: never}}]}}\n"
    ));
    let listed = project
        .runwright(&["list", "--changes"])
        .expect_code(0)
        .stdout;
    assert!(
        !listed.contains("last") && !listed.contains("docs"),
        "{listed}"
    );
    let listed = project
        .runwright(&["list", "--all", "--changes"])
        .expect_code(0)
        .stdout;
    insta::assert_snapshot!(listed, @r#"
    build  build
    docs   test   left out: none of its rules matches; changes of rule 1: there are no files to compare
    te"st  test   needs build
    last   test   Last; left out: its rule 1 matches with `when: never`
    ship   ship   manual; may fail
    "#);
    let all = json(&project, &["list", "--all", "--json"], 0);
    assert_eq!(all.as_array().unwrap().len(), 5);
}

#[test]
fn dot_graph_is_valid_for_graphviz() {
    let project = Project::with_pipeline(PIPELINE);
    let dot = project
        .runwright(&["plan", "--format", "dot"])
        .expect_code(0)
        .stdout;
    let lines: Vec<&str> = dot.lines().collect();
    assert_eq!(
        (lines[0], lines[lines.len() - 1]),
        ("digraph pipeline {", "}")
    );
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    assert!(dot.contains(r#"[label="te\"st"]"#), "{dot}");
    let Ok(mut graphviz) = Command::new("dot")
        .args(["-Tplain"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
    else {
        executor_testkit::not_tested("that Graphviz draws a plan", "`dot` is missing");
        return;
    };
    let mut stdin = graphviz.stdin.take().unwrap();
    stdin.write_all(dot.as_bytes()).unwrap();
    drop(stdin);
    let drawn = graphviz.wait_with_output().unwrap();
    assert!(drawn.status.success());
    let nodes = String::from_utf8_lossy(&drawn.stdout)
        .matches("\nnode ")
        .count();
    assert_eq!(nodes, 4);
}

#[test]
fn dry_run_executes_nothing() {
    // R-PIPE-22
    let project = Project::with_pipeline("job:\n  script: [touch $MARKER]\n");
    let marker = project.scratch().join("marker");
    let run = |options: &[&str]| {
        let arguments = [&["run", "--in-place"], options].concat();
        let output = project.command(&arguments).env("MARKER", &marker).output();
        assert!(output.unwrap().status.success(), "{options:?}");
        marker.exists()
    };
    assert!(!run(&["--dry-run"]));
    assert!(!run(&["--dry-run", "job"]));
    assert!(project.leftovers().is_empty());
    assert!(run(&[]), "the script leaves a mark when it runs");
}

#[test]
fn reading_a_pipeline_sends_no_request() {
    // R-GLCI-166
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    let project = Project::with_pipeline(PIPELINE);
    project.git(&[
        "remote",
        "add",
        "origin",
        &format!("{address}/group/project.git"),
    ]);
    for command in [
        &["lint"][..],
        &["show"],
        &["plan", "--json"],
        &["list", "--mr"],
        &["explain", "ship"],
        &["run", "--dry-run"],
    ] {
        let output = project
            .command(command)
            .env("GITLAB_TOKEN", "a-token")
            .env("CI_API_V4_URL", format!("{address}/api/v4"))
            .env("http_proxy", &address)
            .env_remove("GLCI_PREFER_API")
            .output()
            .unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
    }
    let asked = server.accept().map(|(_, from)| from);
    assert_eq!(asked.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}
