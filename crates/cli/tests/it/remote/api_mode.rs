//! GitLab evaluates the file: the same commands, with the same output.

use super::remote_project::{RemoteProject, TOKEN};
use gitlab_testkit::GitLab;
use serde_json::json;

const OWN: &str = "\
.base:
  script: [echo $WORD]
  variables: {WORD: hello}
one:
  extends: .base
  parallel: {matrix: [{CASE: [x, y]}]}
two:
  extends: .base
  needs: [{job: one, artifacts: false}]
  rules: [{if: $CI_COMMIT_BRANCH == \"main\"}]
three:
  extends: .base
  rules: [{if: $CI_COMMIT_TAG}]
";

const MERGED: &str = "\
---
\".base\":
  script:
  - echo $WORD
  variables: &1
    WORD: hello
one:
  script: &2
  - echo $WORD
  variables: *1
  extends: \".base\"
  parallel:
    matrix:
    - CASE:
      - x
      - y
two:
  script: *2
  variables: *1
  extends: \".base\"
  needs:
  - job: one
    artifacts: false
  rules:
  - if: $CI_COMMIT_BRANCH == \"main\"
three:
  script: *2
  variables: *1
  extends: \".base\"
  rules:
  - if: \"$CI_COMMIT_TAG\"
";

const LINT: &str = "/api/v4/projects/group%2Fapp/ci/lint";

fn remote() -> RemoteProject {
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, &["api"]);
    let remote = RemoteProject::new(gitlab, OWN);
    let need = |name: &str| json!({"name": name, "artifacts": false, "optional": false});
    let job = |name: &str, needs: serde_json::Value| json!({"name": name, "needs": needs});
    remote.gitlab.project("group/app").private().lint(json!({
        "valid": true, "errors": [], "warnings": [], "includes": [], "merged_yaml": MERGED,
        "jobs": [
            job("one: [x]", json!(null)), job("one: [y]", json!(null)),
            job("two", json!([need("one: [x]"), need("one: [y]")])), job("three", json!(null)),
        ],
    }));
    remote
}

/// Returns an output without the locations of values.
fn without_origins(output: &str) -> Vec<&str> {
    let parts = |line| str::split(line, "  # ").next().unwrap_or_default();
    output.lines().map(parts).collect()
}

#[test]
fn commands_print_the_same_as_without_the_api() {
    // R-GLCI-165 R-GLCI-166
    let remote = remote();
    for command in [
        &["list"][..],
        &["list", "--json"],
        &["plan"],
        &["plan", "--json"],
        &["lint"],
        &["lint", "--tag", "v1"],
        &["list", "--tag", "v1"],
        &["show"],
    ] {
        let here = remote.runwright(command).expect_code(0);
        assert_eq!(remote.gitlab.total(), 0, "{command:?}");
        let there = [command, &["--prefer-api"]].concat();
        let there = remote.runwright(&there).expect_code(0);
        assert_eq!(remote.gitlab.count("POST", LINT), 1, "{command:?}");
        assert_eq!(remote.gitlab.total(), 1, "{command:?}");
        assert_eq!(
            without_origins(&there.stdout),
            without_origins(&here.stdout),
            "{command:?}"
        );
        remote.gitlab.reset_count();
    }
    let server = format!("merged by {}", remote.gitlab.name());
    let explain = ["explain", "two", "--prefer-api"];
    remote
        .runwright(&explain)
        .expect_code(0)
        .expect_text(&server);
}

#[test]
fn glci_variable_enables_the_api_and_jobs_run() {
    // R-GLCI-165
    let remote = remote();
    let run = |value: &str| {
        let mut command = remote.command(&["run", "two"]);
        command.env("GLCI_PREFER_API", value);
        crate::project::Done::from(command.output().unwrap()).expect_code(0)
    };
    assert!(run("1").expect_text("hello").stdout.contains("two"));
    assert_eq!(remote.gitlab.count("POST", LINT), 1);
    run("0").expect_text("hello");
    assert_eq!(remote.gitlab.total(), 1);
}

#[test]
fn command_line_takes_precedence_over_the_variable() {
    // R-GLCI-165 R-GLCI-166
    let remote = remote();
    let run = |value: &str, arguments: &[&str]| {
        let mut command = remote.command(arguments);
        command.env("GLCI_PREFER_API", value);
        crate::project::Done::from(command.output().unwrap())
    };
    let here = run("1", &["list", "--offline"]).expect_code(0);
    here.expect_text("since --offline takes precedence over GLCI_PREFER_API");
    let here = run("0", &["list", "--offline"]).expect_code(0);
    assert_eq!(here.stderr, "");
    run("0", &["list", "--offline", "--prefer-api"])
        .expect_code(2)
        .expect_text("cannot be used with");
    // A file merged by a GitLab has no includes to lock.
    run("1", &["vendor"]).expect_code(0);
    run("1", &["vendor", "--check"]).expect_code(0);
    run("", &["vendor", "--prefer-api"])
        .expect_code(2)
        .expect_text("leave out --prefer-api");
    assert_eq!(remote.gitlab.total(), 0);
}

#[test]
fn missing_token_names_the_places_searched() {
    // R-GLCI-165
    let remote = remote();
    std::fs::write(remote.project.home().join("config.toml"), "").unwrap();
    let url = remote.gitlab.url();
    let arguments = ["list", "--prefer-api", "--gitlab", &url];
    let done = remote.runwright(&arguments).expect_code(2);
    for expect in [
        "there is no token for http://127.0.0.1",
        "the scope `api`",
        "GITLAB_TOKEN",
    ] {
        assert!(
            done.stderr.contains(expect),
            "no {expect:?} in:\n{}",
            done.stderr
        );
    }
    assert_eq!(remote.gitlab.total(), 0);
}

#[test]
fn token_without_the_lint_scope_names_the_missing_scope() {
    let remote = RemoteProject::new(GitLab::start(), OWN);
    remote.gitlab.project("group/app").private();
    let done = remote.runwright(&["lint", "--prefer-api"]);
    assert_ne!(done.code, Some(0));
    assert!(
        done.all().contains("lacks the scope `api`"),
        "{}",
        done.all()
    );
}

#[test]
fn errors_found_by_gitlab_are_shown_by_lint_and_in_json() {
    let remote = remote();
    remote.gitlab.project("group/app").lint(json!({
        "valid": false, "warnings": [], "merged_yaml": null, "jobs": [],
        "errors": ["jobs:two:rules config is odd", "Local file `ci/gone.yml` does not exist!"],
    }));
    let done = remote.runwright(&["lint", "--prefer-api"]).expect_code(2);
    assert!(done.all().contains(".gitlab-ci.yml:10:3"), "{}", done.all());
    let done = remote.runwright(&["lint", "--prefer-api", "--json"]);
    let done = done.expect_code(2);
    let found: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert!(found.to_string().contains("server-error"), "{found}");
}
