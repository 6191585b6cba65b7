//! Keywords that a local run does not treat as GitLab does.

use crate::project::Project;

#[test]
fn unsupported_keywords_are_reported_once() {
    let project = Project::with_pipeline(
        "image: alpine\nservices: [postgres]\na:\n  script: [\"true\"]\nb:\n  script: [\"true\"]\n",
    );
    let done = project
        .runwright(&["run", "--executor", "shell"])
        .expect_code(0);
    assert_eq!(
        done.stderr.matches("warning: `image` of 2 jobs: ").count(),
        1,
        "{}",
        done.stderr
    );
    assert_eq!(
        done.stderr
            .matches("warning: `services` of 2 jobs: ")
            .count(),
        1,
        "{}",
        done.stderr
    );
}

#[test]
fn job_that_cannot_run_locally_is_refused_before_anything_starts() {
    let project = Project::with_pipeline(
        "build:\n  script: [touch ran]\nsecret:\n  script: [\"true\"]\n  secrets: {A: {vault: a/b/c@d}}\n\
         deploy:\n  script: [\"true\"]\n  secrets: {A: {vault: a/b/c@d}}\n  when: manual\n",
    );
    let refused = project.runwright(&["run", "--in-place"]).expect_code(2);
    assert!(
        refused
            .stderr
            .contains("`secret` cannot run here: `secrets`: "),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("deploy"), "{}", refused.stderr);
    assert!(!project.dir().join("ran").exists());

    let all = project.runwright(&["run", "--manual", "deploy", "--dry-run"]);
    let refused: Vec<String> = all
        .expect_code(2)
        .stderr
        .lines()
        .filter(|line| line.contains("cannot run here") || line.contains("-->"))
        .map(|line| line.split(": secrets are").next().unwrap().to_owned())
        .collect();
    insta::assert_snapshot!(refused.join("\n"), @"
    error: `secret` cannot run here: `secrets`
     --> .gitlab-ci.yml:3:1
    `deploy` cannot run here: `secrets`
     --> .gitlab-ci.yml:6:1
    ");

    project.runwright(&["run", "build"]).expect_code(0);
    let manual = project.runwright(&["run", "deploy"]).expect_code(2);
    assert!(
        manual
            .stderr
            .contains("`deploy` cannot run here: `secrets`: "),
        "{}",
        manual.stderr
    );
}

#[test]
fn deviations_do_not_make_a_file_invalid() {
    let project =
        Project::with_pipeline("build:\n  script: [\"true\"]\n  services: [a]\n  tags: [b]\n");
    let found = project.runwright(&["lint", "--strict"]).expect_code(0);
    assert!(
        found.stdout.contains("warning[not-local]: `services`: "),
        "{}",
        found.stdout
    );
    assert!(!found.stdout.contains("`tags`"), "{}", found.stdout);
    let all = project.runwright(&["lint", "--notes"]).expect_code(0);
    assert!(
        all.stdout.contains("note[not-local]: `tags`: "),
        "{}",
        all.stdout
    );
}
