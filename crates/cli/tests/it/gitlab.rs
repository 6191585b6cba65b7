//! `runwright gitlab`: which GitLab, which user, and whether the connection works.

use crate::project::{Done, Project};
use gitlab_testkit::GitLab;

const TOKEN: &str = "glpat-of-this-test";

/// Returns a project cloned from a GitLab.
fn cloned(gitlab: &GitLab) -> Project {
    let project = Project::with_pipeline("a: {script: make}\n");
    let remote = format!("{}/group/app.git", gitlab.url());
    project.git(&["remote", "add", "origin", &remote]);
    project
}

fn ask(project: &Project, token: Option<&str>) -> Done {
    let mut command = project.command(&["gitlab"]);
    command
        .env("HOME", project.home())
        .env_remove("GITLAB_TOKEN");
    command.envs(token.map(|token| ("GITLAB_TOKEN", token)));
    command.output().unwrap().into()
}

#[test]
fn accepted_token_is_reported() {
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, &["read_api"]);
    gitlab.project("group/app").private();
    let done = ask(&cloned(&gitlab), Some(TOKEN)).expect_code(0);
    for line in [
        &format!("GitLab   {}", gitlab.url()),
        "path     group/app",
        "token    from GITLAB_TOKEN",
        "project  group/app",
    ] {
        assert!(
            done.stdout.contains(line),
            "no {line:?} in:\n{}",
            done.stdout
        );
    }
    assert!(!done.all().contains(TOKEN), "{}", done.all());
}

#[test]
fn failures_are_reported_with_help() {
    let gitlab = GitLab::start();
    gitlab.project("group/app").private();
    let project = cloned(&gitlab);
    let done = ask(&project, None).expect_code(3);
    assert!(done.stdout.contains("token    none"), "{}", done.stdout);
    assert!(
        done.stdout.contains("GITLAB_TOKEN: not set"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("help: "), "{}", done.stdout);

    let done = ask(&project, Some("glpat-unknown")).expect_code(3);
    assert!(
        done.stdout.contains("refuses the token from GITLAB_TOKEN"),
        "{}",
        done.stdout
    );
    assert!(!done.all().contains("glpat-unknown"), "{}", done.all());
}

#[test]
fn missing_gitlab_is_an_error_with_advice() {
    let project = Project::with_pipeline("a: {script: make}\n");
    let mut command = project.command(&["gitlab"]);
    for name in ["GITLAB_HOST", "GITLAB_URI", "GL_HOST", "CI_SERVER_URL"] {
        command.env_remove(name);
    }
    let done: Done = command.output().unwrap().into();
    done.expect_code(2).expect_text("name it with --gitlab");
}

#[test]
fn rejected_token_causes_one_request_and_one_help() {
    let gitlab = GitLab::start();
    gitlab.project("group/app").private();
    gitlab.token(TOKEN, &["read_api"]).expire();
    let project = cloned(&gitlab);
    let done = ask(&project, Some(TOKEN)).expect_code(3);
    assert_eq!(gitlab.total(), 1);
    assert_eq!(done.stdout.matches("help: ").count(), 1, "{}", done.stdout);
    // A token that lacks one scope may have another.
    gitlab.token("glpat-other", &["read_repository"]);
    let done = ask(&project, Some("glpat-other")).expect_code(3);
    let row = "scopes   read_repository (the token `test` ends 2099-01-01)";
    assert!(done.stdout.contains(row), "{}", done.stdout);
    assert_eq!(done.stdout.matches("help: ").count(), 1, "{}", done.stdout);
}

#[test]
fn offline_sends_no_request() {
    let gitlab = GitLab::start();
    let project = cloned(&gitlab);
    let mut command = project.command(&["gitlab", "--offline", "--json"]);
    command
        .env("HOME", project.home())
        .env("GITLAB_TOKEN", TOKEN);
    let done = Done::from(command.output().unwrap()).expect_code(0);
    let json: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(json["gitlab"], gitlab.url());
    assert_eq!(json["token"], "GITLAB_TOKEN");
    assert_eq!(json["answers"], serde_json::json!({}));
    assert_eq!(gitlab.total(), 0);
}

#[test]
fn variable_with_an_invalid_address_is_an_error() {
    let project = Project::with_pipeline("a: {script: make}\n");
    let mut command = project.command(&["gitlab"]);
    command.env("RUNWRIGHT_GITLAB", "bad host");
    let done: Done = command.output().unwrap().into();
    done.expect_code(2).expect_text("is no address of a GitLab");
}
