//! Ctrl-C, once and twice, as a terminal sends it.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Project, processes_with, wait_until};
use std::process::Command;

fn interrupt(pid: u32, signal: &str) {
    let status = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn ctrl_c_cancels_runs_after_script_and_cleans_up() {
    let project = Project::with_pipeline(
        "job:\n  script: [echo ready, sleep 600]\n  after_script: [echo \"after=$CI_JOB_STATUS\"]\n",
    );
    let mut run = project.start(&["run"]);
    project.wait_for("job | ready");
    interrupt(run.id(), "-INT");
    assert_eq!(
        run.wait().unwrap().code(),
        Some(130),
        "{}",
        project.printed()
    );
    assert!(
        project.printed().contains("job | after=canceled"),
        "{}",
        project.printed()
    );
    assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());
}

#[test]
fn ctrl_c_twice_ends_everything_at_once() {
    let marker = format!("runwright-test-twice-{}", std::process::id());
    let project = Project::with_pipeline(&format!(
        "job:\n  variables: {{MARK: {marker}}}\n  script:\n    - trap '' TERM\n    - setsid sleep 600 &\n    - echo ready\n    - while true; do sleep 1; done\n  after_script: [echo not-after-abort]\n",
    ));
    let mut run = project.start(&["run"]);
    project.wait_for("job | ready");
    interrupt(run.id(), "-INT");
    interrupt(run.id(), "-INT");
    assert_eq!(
        run.wait().unwrap().code(),
        Some(130),
        "{}",
        project.printed()
    );
    assert!(
        !project.printed().contains("job | not-after-abort"),
        "{}",
        project.printed()
    );
    wait_until("the job's processes to be gone", || {
        processes_with(&marker).is_empty()
    });
    assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());
}

#[test]
fn any_other_ending_signal_has_the_same_exit_code() {
    let project = Project::with_pipeline("job:\n  script: [echo ready, sleep 600]\n");
    let mut run = project.start(&["run"]);
    project.wait_for("job | ready");
    interrupt(run.id(), "-TERM");
    assert_eq!(
        run.wait().unwrap().code(),
        Some(130),
        "{}",
        project.printed()
    );
}
