//! `kill -9` of the runner, and of runner and guardian together: nothing stays.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Project, processes_with, wait_until, wait_until_told};
use std::process::{Child, Command};
use std::time::Duration;

/// A pipeline whose job leaves daemons and files everywhere, and says where it is.
fn nasty(marker: &str) -> String {
    format!(
        "job:
  variables: {{MARK: {marker}}}
  script:
    - setsid nohup sleep 600 >/dev/null 2>&1 &
    - (trap '' TERM HUP; sleep 600) &
    - mkdir -p kept && chmod 500 kept
    - echo in-script
    - sleep 0.03
  after_script:
    - setsid sleep 600 &
    - echo in-after-script
    - sleep 0.03
"
    )
}

fn kill_9(pids: &[u32]) {
    let pids = pids.iter().map(ToString::to_string);
    Command::new("kill")
        .arg("-KILL")
        .args(pids)
        .status()
        .unwrap();
}

/// Returns the guardian of a runner: its child that is no job.
fn guardian_of(runner: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{runner}/task/{runner}/children"));
    let pids = children.unwrap_or_default();
    pids.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

fn assert_nothing_stays(project: &Project, marker: &str) {
    wait_until("all processes to be gone", || {
        processes_with(marker).is_empty()
    });
    let left = || format!("{:?} to be gone", project.leftovers());
    wait_until_told(left, || project.leftovers().is_empty());
}

/// Lets the next start of the binary clean up.
fn next_start(project: &Project) {
    project
        .runwright(&["run", "--variable", "MARK=next"])
        .expect_code(0);
}

fn start(project: &Project) -> Child {
    project.start(&["run"])
}

#[test]
fn killing_the_runner_in_each_stage_leaves_nothing() {
    for stage in ["in-script", "in-after-script"] {
        let marker = format!("runwright-test-{stage}-{}", std::process::id());
        let project = Project::with_pipeline(&nasty(&marker));
        let mut run = start(&project);
        project.wait_for(&format!("job | {stage}"));
        kill_9(&[run.id()]);
        run.wait().unwrap();
        assert_nothing_stays(&project, &marker);
    }
}

#[test]
fn killing_runner_and_guardian_leaves_nothing_after_the_next_start() {
    let marker = format!("runwright-test-both-{}", std::process::id());
    let project = Project::with_pipeline(&nasty(&marker));
    let mut run = start(&project);
    project.wait_for("job | in-script");
    let mut pids = guardian_of(run.id());
    pids.push(run.id());
    kill_9(&pids);
    run.wait().unwrap();
    next_start(&project);
    assert_nothing_stays(&project, &marker);
}

#[test]
fn two_hundred_random_kills_leave_nothing() {
    let marker = format!("runwright-test-random-{}", std::process::id());
    let project = Project::with_pipeline(&nasty(&marker));
    // A fixed sequence, so that a failure can be repeated; the machine's noise makes it random.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..200 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let mut run = start(&project);
        std::thread::sleep(Duration::from_micros(state % 120_000));
        let mut pids = vec![run.id()];
        if round % 2 == 1 {
            pids.extend(guardian_of(run.id()));
        }
        kill_9(&pids);
        run.wait().unwrap();
    }
    next_start(&project);
    assert_nothing_stays(&project, &marker);
}
