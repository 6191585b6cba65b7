//! Runs that prepare warm containers for later jobs.

use crate::docker::{containers, docker, nothing_left, runwright, start};
use crate::project::{Project, wait_until};
use std::fs;
use std::process::Child;

/// Jobs that wait until the test creates `/go` in their containers.
const PIPELINE: &str = "
default: {image: 'runwright-test/busybox:1'}
stages: [build, test]
first:
  stage: build
  script: ['while [ ! -e /go ]; do sleep 0.05; done', 'echo made > made', 'touch /mine']
  artifacts: {paths: [made]}
second:
  stage: test
  before_script: [echo ran >> ran]
  script:
    - test -f .gitlab-ci.yml && cat made && ! test -e /mine
    - i=0; while [ ! -e /go ]; do echo \"tick $i.\"; i=$((i+1)); sleep 0.05; done
    - echo \"it ran $(wc -l < ran) times\"
";

/// Returns whether the container is still spare: a job that takes one keeps its directories but renames it.
fn is_ahead(container: &str) -> bool {
    let name = container.split(' ').nth(1);
    name.is_some_and(|name| name.contains("-warm-"))
}

/// Runs the first job until a spare is ready for the second, then the second until it has printed something.
fn second_runs() -> (Project, Child) {
    let project = Project::with_pipeline(PIPELINE);
    fs::create_dir_all(project.home()).unwrap();
    fs::write(project.home().join("config.toml"), "[docker]\nwarm = 1\n").unwrap();
    let run = start(&project, &["run", "--executor", "docker"]);
    wait_until("a container to be made ahead", || {
        containers(&project).iter().any(|it| is_ahead(it))
    });
    go(&project);
    project.wait_for("second | tick 9.");
    (project, run)
}

/// Lets the job in this container finish.
fn go(project: &Project) {
    let found = containers(project);
    let job = found.iter().find(|it| !is_ahead(it));
    let (id, _) = job.expect("a job runs").split_once(' ').unwrap();
    docker(&["exec", id, "touch", "/go"]);
}

#[test]
fn job_takes_a_warm_container() {
    let (project, mut run) = second_runs();
    go(&project);
    assert!(run.wait().unwrap().success(), "{}", project.printed());
    let printed = project.printed();
    assert!(printed.contains("second | made"), "{printed}");
    let log = |job: &str| runwright(&project, &["logs", job]).expect_code(0).stdout;
    let was_ready = "Using a warm container.";
    assert!(!log("first").contains(was_ready), "{}", log("first"));
    assert!(log("second").contains(was_ready), "{}", log("second"));
    nothing_left(&project);
}

#[test]
fn next_run_removes_the_spares_of_a_killed_run() {
    // R-EXEC-68
    let (project, mut run) = second_runs();
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(!containers(&project).is_empty());
    let job = "job: {image: 'runwright-test/busybox:1', script: [echo again]}\n";
    project.write(".gitlab-ci.yml", job);
    runwright(&project, &["run", "--executor", "docker"]).expect_code(0);
    nothing_left(&project);
}

#[test]
fn killed_run_resumes_a_job_in_a_warm_container() {
    // R-EXEC-68
    let (project, mut run) = second_runs();
    run.kill().unwrap();
    run.wait().unwrap();
    let id_of_job = || {
        let found = containers(&project);
        let job = found.into_iter().find(|it| !is_ahead(it));
        job.map(|it| it.split(' ').next().unwrap_or_default().to_owned())
    };
    let before = id_of_job();
    assert!(before.is_some());
    let mut run = start(&project, &["resume"]);
    project.wait_for("second | tick ");
    assert_eq!(id_of_job(), before);
    go(&project);
    assert!(run.wait().unwrap().success(), "{}", project.printed());
    let printed = project.printed();
    assert!(printed.contains("second | it ran 1 times"), "{printed}");
    nothing_left(&project);
}
