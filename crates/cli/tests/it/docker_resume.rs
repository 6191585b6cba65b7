//! Runs with jobs in containers that are killed and resumed.

use crate::docker::{command, containers, docker, nothing_left, runwright, settings, start};
use crate::project::{Done, Project};
use fail_point::VARIABLE;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;

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

/// Runs a job that writes to a file outside of its container, with this fault, which kills the runner once the
/// script has ended; returns the project.
fn killed_after_script(fault: &str) -> Project {
    let project = Project::with_pipeline(
        "job:\n  image: runwright-test/busybox:1\n  script: [echo ran >> /out/ran, echo made > made, exit 3]\n\
        \x20 after_script: ['echo \"after $CI_JOB_STATUS.\"']\n  artifacts: {paths: [made], when: always}\n",
    );
    let out = project.scratch().join("out");
    fs::create_dir(&out).unwrap();
    settings(&project, &format!("volumes = [\"{}:/out\"]", out.display()));
    let mut run = command(&project, &["run", "--executor", "docker"]);
    let killed = run.env(VARIABLE, fault).output().unwrap();
    let signal = killed.status.signal();
    assert_eq!(signal, Some(9), "{fault}: {:?}", Done::from(killed));
    project
}

/// Returns how often the script ran.
fn times_run(project: &Project) -> usize {
    let ran = fs::read_to_string(project.scratch().join("out/ran")).unwrap();
    ran.lines().count()
}

#[test]
fn script_that_had_ended_is_not_run_again() {
    // R-EXEC-68
    for (fault, decided) in [
        // The script has ended in the container, and only the agent knows it.
        ("kill before job_runner::notes::write 2", ""),
        (
            "kill before job_runner::finalise::remove_files",
            "The script had ended with exit code 3 when",
        ),
        (
            "kill after job_runner::finalise::remove_files",
            "The script had ended with exit code 3 when",
        ),
        (
            "kill before executor_docker::container::remove",
            "The job had failed with exit code 3 when",
        ),
        (
            "kill after executor_docker::container::remove",
            "The job had failed with exit code 3 when",
        ),
        ("kill before job_runner::notes::remove", ""),
    ] {
        let project = killed_after_script(fault);
        let done = runwright(&project, &["resume"]);
        assert_eq!(times_run(&project), 1, "{fault}: {}", done.all());
        done.expect_code(1).expect_text("exit code 3");
        let log = log(&project);
        for (text, count) in [("after failed.", 1), ("Job failed: exit code 3", 1)] {
            assert_eq!(
                log.matches(text).count(),
                count,
                "{text:?} of {fault}: {log}"
            );
        }
        assert!(log.contains(decided), "{fault}: {log}");
        runwright(&project, &["artifacts", "job"]).expect_code(0);
        nothing_left(&project);
    }
}

#[test]
fn job_whose_script_had_ended_and_whose_container_is_gone_fails() {
    let project = killed_after_script("kill before job_runner::finalise::remove_files");
    let found = containers(&project);
    let (id, _) = found[0].split_once(' ').unwrap();
    docker(&["rm", "--force", id]);
    runwright(&project, &["resume"])
        .expect_code(3)
        .expect_text("the job cannot continue after it: docker: container ");
    assert_eq!(times_run(&project), 1);
    // The user decides that it may run again.
    runwright(&project, &["retry"]).expect_code(1);
    assert_eq!(times_run(&project), 2);
    nothing_left(&project);
}
