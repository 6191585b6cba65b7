//! `runwright vendor`: the lock file of remote includes.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive git from outside"
)]

use crate::project::{Done, Project};
use gitlab_testkit::GitLab;
use std::fs;

/// Returns a project that includes a file of another project, and one more in tag pipelines only.
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
fn lock_file_covers_the_includes_of_every_situation() {
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
fn check_reports_differences() {
    let gitlab = GitLab::start();
    let project = including(&gitlab);
    run(&project, &["vendor", "--check"])
        .expect_code(2)
        .expect_text("it does not exist");
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
    run(&project, &["vendor"])
        .expect_code(0)
        .expect_text("as before; 1 text written anew");
    // The includes of an invalid pipeline are unknown.
    project.write(".gitlab-ci.yml", "a: {scrip: make}\n");
    let done = run(&project, &["vendor", "--check"]).expect_code(2);
    assert!(done.stderr.contains("missing-script"), "{}", done.stderr);
    assert!(!done.stdout.contains("asked"), "{}", done.stdout);
}

#[test]
fn locking_a_stale_response_is_reported() {
    let gitlab = GitLab::start();
    let project = including(&gitlab);
    run(&project, &["vendor"]).expect_code(0);
    gitlab.stop();
    let done = run(&project, &["vendor"]).expect_code(0);
    assert!(done.stderr.contains("used as it was"), "{}", done.stderr);
}

#[test]
fn state_directory_beside_the_vendored_files_is_ignored() {
    let gitlab = GitLab::start();
    let project = including(&gitlab);
    let seen = |first: &[&str], second: &[&str]| {
        let texts = project.dir().join(".runwright");
        let _ = fs::remove_dir_all(&texts);
        for arguments in [first, second] {
            let mut command = project.command(arguments);
            command.env("RUNWRIGHT_HOME", &texts);
            Done::from(command.output().unwrap()).expect_code(0);
        }
        assert!(texts.join("cache").exists());
        let mut git = std::process::Command::new("git");
        let status = git
            .args(["status", "--short", "--untracked-files=all"])
            .current_dir(project.dir());
        let status = status.output().unwrap();
        let status = String::from_utf8(status.stdout).unwrap();
        let seen = status.lines().filter(|line| line.contains(".runwright/"));
        assert_eq!(seen.clone().count(), 3, "{status}");
        assert!(
            seen.clone().all(|line| line.contains(".runwright/vendor/")),
            "{status}"
        );
    };
    seen(&["list"], &["vendor"]);
    seen(&["vendor"], &["run", "a"]);
}

#[test]
fn file_included_only_in_another_situation_may_be_missing() {
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
fn invalid_pipeline_is_not_locked() {
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

#[test]
fn without_a_remote_the_lock_file_or_the_option_names_the_gitlab() {
    let gitlab = GitLab::start();
    let project = including(&gitlab);
    let component = gitlab.project("group/component");
    component.commit(&[("templates/build.yml", "built: {script: make}")]);
    component.tag("1.0.0");
    let text = "include:\n  - {project: group/templates, file: a.yml}\n  \
                - component: $CI_SERVER_FQDN/group/component/build@1\n";
    project.write(".gitlab-ci.yml", text);
    run(&project, &["vendor"]).expect_code(0);
    // As in a copied directory or an unpacked archive.
    project.git(&["remote", "remove", "origin"]);
    run(&project, &["list", "--offline"])
        .expect_code(0)
        .expect_text("built");
    run(&project, &["list", "--offline", "--gitlab", &gitlab.url()])
        .expect_code(0)
        .expect_text("built");
}

#[test]
fn remote_exists_rules_are_locked_for_all_situations() {
    let gitlab = GitLab::start();
    let project = including(&gitlab);
    gitlab.project("group/other").commit(&[("Dockerfile", "")]);
    let text = "of-tags:\n  script: make\n  rules: [{if: $CI_COMMIT_TAG, exists: \
                {paths: [Dockerfile], project: group/other, ref: main}}]\nb: {script: make}\n";
    project.write(".gitlab-ci.yml", text);
    run(&project, &["vendor"]).expect_code(0);
    gitlab.stop();
    for situation in [&[][..], &["--tag", "v1"]] {
        run(&project, &[&["vendor", "--check"], situation].concat()).expect_code(0);
    }
    run(&project, &["list", "--offline", "--tag", "v1"])
        .expect_code(0)
        .expect_text("of-tags");
}

#[test]
fn nothing_is_written_where_nothing_is_included_from_servers() {
    let project = Project::with_pipeline("job: {script: [echo]}\n");
    run(&project, &["vendor"])
        .expect_code(0)
        .expect_text("nothing to lock");
    assert!(!project.dir().join(".runwright.lock").exists());
    assert!(!project.dir().join(".runwright").exists());
}
