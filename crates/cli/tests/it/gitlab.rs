//! `runwright gitlab`: which GitLab, who asks, and whether that works.

use crate::project::{Done, Project};
use gitlab_testkit::GitLab;

const TOKEN: &str = "glpat-of-this-test";

/// Returns a project that was cloned from a GitLab.
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
fn a_gitlab_that_knows_the_user_says_so() {
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
fn what_does_not_work_is_said_with_what_helps() {
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
fn without_a_gitlab_there_is_advice() {
    let project = Project::with_pipeline("a: {script: make}\n");
    let mut command = project.command(&["gitlab"]);
    for name in ["GITLAB_HOST", "GITLAB_URI", "GL_HOST", "CI_SERVER_URL"] {
        command.env_remove(name);
    }
    let done: Done = command.output().unwrap().into();
    done.expect_code(2).expect_text("name it with --gitlab");
}
