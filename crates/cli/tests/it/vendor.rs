//! `runwright vendor`: the lock file of what is included from elsewhere.

use crate::project::{Done, Project};
use gitlab_testkit::GitLab;
use std::fs;

/// Returns a project that includes a file of another one, and one more for tags alone.
fn including(gitlab: &GitLab) -> Project {
    let templates = gitlab.project("group/templates");
    templates.commit(&[
        ("a.yml", "a: {script: echo from a}"),
        ("tags.yml", "of-tags: {script: make}"),
    ]);
    let project = Project::with_pipeline(
        "include:\n  - {project: group/templates, file: a.yml}\n  \
         - {project: group/templates, file: tags.yml, rules: [{if: $CI_COMMIT_TAG}]}\n",
    );
    let remote = format!("{}/group/app.git", gitlab.url());
    project.git(&["remote", "add", "origin", &remote]);
    project
}

fn run(project: &Project, arguments: &[&str]) -> Done {
    let mut command = project.command(arguments);
    command
        .env("HOME", project.home())
        .env_remove("GITLAB_TOKEN");
    command.output().unwrap().into()
}

#[test]
fn what_is_locked_is_all_that_any_situation_includes() {
    let gitlab = GitLab::start();
    let project = including(&gitlab);
    run(&project, &["vendor"])
        .expect_code(0)
        .expect_text("2 texts new");
    run(&project, &["vendor"])
        .expect_code(0)
        .expect_text("as before");
    run(&project, &["vendor", "--check"]).expect_code(0);

    drop(gitlab);
    fs::remove_dir_all(project.home()).unwrap();
    let listed = run(&project, &["list", "--offline"]).expect_code(0);
    assert!(!listed.stdout.contains("of-tags"), "{}", listed.stdout);
    let listed = run(&project, &["list", "--offline", "--tag", "v1"]).expect_code(0);
    assert!(listed.stdout.contains("of-tags"), "{}", listed.stdout);
    run(&project, &["run", "a", "--offline"])
        .expect_code(0)
        .expect_text("from a");
}

#[test]
fn the_check_says_what_differs() {
    let gitlab = GitLab::start();
    let project = including(&gitlab);
    run(&project, &["vendor", "--check"])
        .expect_code(2)
        .expect_text("there is none");
    run(&project, &["vendor"]).expect_code(0);

    let file = project.dir().join(".gitlab-ci.yml");
    let text = fs::read_to_string(&file).unwrap();
    let more = text.clone() + "  - {project: group/templates, file: more.yml}\n";
    fs::write(&file, more).unwrap();
    run(&project, &["vendor", "--check"])
        .expect_code(1)
        .expect_text("not locked");
    fs::write(&file, "b: {script: make}\n").unwrap();
    run(&project, &["vendor", "--check"])
        .expect_code(1)
        .expect_text("not asked any more");
    fs::write(&file, text).unwrap();

    let texts = fs::read_dir(project.dir().join(".runwright/vendor")).unwrap();
    let text = texts.map(|text| text.unwrap().path());
    let text = text
        .filter(|path| path.extension().is_some_and(|it| it == "yml"))
        .min();
    fs::write(text.expect("a text"), "a: {script: another}").unwrap();
    run(&project, &["vendor", "--check"])
        .expect_code(1)
        .expect_text("changed");
    run(&project, &["list"])
        .expect_code(2)
        .expect_text("its digest is");
}

#[test]
fn a_file_that_only_another_situation_includes_may_be_missing() {
    let gitlab = GitLab::start();
    let project = including(&gitlab);
    let text = "include:\n  - {project: group/templates, file: a.yml}\n  \
                - {project: group/none, file: b.yml, rules: [{if: $CI_COMMIT_TAG}]}\n";
    project.write(".gitlab-ci.yml", text);
    let done = run(&project, &["vendor"]).expect_code(0);
    assert!(done.stderr.contains("left out"), "{}", done.stderr);
    run(&project, &["vendor", "--check"]).expect_code(0);
    run(&project, &["list", "--tag", "v1"]).expect_code(2);
}

#[test]
fn nothing_is_locked_of_an_invalid_pipeline() {
    let gitlab = GitLab::start();
    let project = including(&gitlab);
    project.write(
        ".gitlab-ci.yml",
        "include: {project: group/templates, file: none.yml}\n",
    );
    run(&project, &["vendor"])
        .expect_code(2)
        .expect_text("none.yml");
    assert!(!project.dir().join(".runwright.lock").exists());
}
