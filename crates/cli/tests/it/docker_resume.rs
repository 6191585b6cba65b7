//! Runs with jobs in containers that are killed and resumed.

use crate::docker::{containers, docker, nothing_left, runwright, start};
use crate::project::Project;

/// A job that counts until the test creates `/go` in its container, and a job that checks the artifacts of the first.
const PIPELINE: &str = "
default: {image: 'runwright-test/busybox:1'}
stages: [build, test]
job:
  stage: build
  before_script: [echo ran >> ran]
  script:
    - i=0; while [ ! -e /go ]; do echo \"tick $i.\"; i=$((i+1)); sleep 0.05; done
    - echo \"last $i.\"
  after_script: ['echo \"after $CI_JOB_STATUS\"', 'test -f .gitlab-ci.yml && echo with-sources']
  artifacts: {paths: [ran]}
look: {stage: test, script: ['echo \"it ran $(wc -l < ran) times\"']}
";

/// Starts the run and kills it while its job counts.
fn killed() -> Project {
    let project = Project::with_pipeline(PIPELINE);
    let mut run = start(&project, &["run", "--executor", "docker"]);
    project.wait_for("job  | tick 9.");
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(containers(&project).len(), 1);
    project
}

/// Lets the job in its container finish.
fn go(project: &Project) {
    let found = containers(project);
    let (id, _) = found[0].split_once(' ').unwrap();
    docker(&["exec", id, "touch", "/go"]);
}

/// Returns the log of the job.
fn log(project: &Project) -> String {
    let done = runwright(project, &["logs", "job"]).expect_code(0);
    done.stdout
}

#[test]
fn killed_run_resumes_a_job_that_still_runs() {
    // R-EXEC-68
    let project = killed();
    let before = containers(&project);
    let mut run = start(&project, &["resume"]);
    project.wait_for("job  | tick ");
    let now = containers(&project);
    assert_eq!(now.len(), 1);
    assert_eq!(now[0].split(' ').next(), before[0].split(' ').next());
    go(&project);
    assert!(run.wait().unwrap().success(), "{}", project.printed());
    let printed = project.printed();
    assert!(printed.contains("look | it ran 1 times"), "{printed}");
    nothing_left(&project);

    let log = log(&project);
    let lines = log
        .lines()
        .filter(|line| line.contains("tick ") || line.contains("last "));
    // The log contains the echoed commands as well.
    let lines = lines.filter(|line| line.ends_with('.'));
    let count = lines.clone().count();
    assert!(count > 10, "{log}");
    for (number, line) in lines.enumerate() {
        let word = if number + 1 < count { "tick" } else { "last" };
        assert!(
            line.ends_with(&format!("{word} {number}.")),
            "{line:?} in\n{log}"
        );
    }
    for once in [
        "after success",
        "with-sources",
        "Running with runwright",
        "Job succeeded",
    ] {
        let is_said = |line: &&str| line.contains(once) && !line.contains("echo");
        assert_eq!(log.lines().filter(is_said).count(), 1, "{once:?} in\n{log}");
    }
}

#[test]
fn job_whose_container_is_gone_starts_again() {
    let project = killed();
    let found = containers(&project);
    let (id, _) = found[0].split_once(' ').unwrap();
    docker(&["rm", "--force", id]);
    let mut run = start(&project, &["resume"]);
    project.wait_for("job  | tick 0.");
    go(&project);
    assert!(run.wait().unwrap().success(), "{}", project.printed());
    let printed = project.printed();
    assert!(printed.contains("starts over: "), "{printed}");
    assert!(printed.contains("look | it ran 1 times"), "{printed}");
    nothing_left(&project);
}
