//! What a file asks for and a local run does not honour.

use crate::project::Project;

#[test]
fn what_the_executor_cannot_give_is_said_once() {
    let project = Project::with_pipeline(
        "image: alpine\nservices: [postgres]\na:\n  script: [\"true\"]\nb:\n  script: [\"true\"]\n",
    );
    let done = project.runwright(&["run"]).expect_code(0);
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
fn a_job_that_would_mean_something_else_is_refused_before_anything_starts() {
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
fn what_a_local_run_does_not_honour_makes_no_file_invalid() {
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
