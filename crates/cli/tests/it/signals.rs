//! Ctrl-C, once and twice, as a terminal sends it.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Project, processes_with, wait_until};
use std::process::Command;

pub(crate) fn interrupt(pid: u32, signal: &str) {
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
    let printed = project.printed();
    for line in ["job | after=canceled", "Job canceled by the user"] {
        assert!(printed.contains(line), "{printed}");
    }
    assert!(!printed.to_lowercase().contains("failed"), "{printed}");
    let last = "canceled; continue with runwright resume 1\n";
    assert!(printed.ends_with(last), "{printed}");
    assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());
}

#[test]
fn second_ctrl_c_ends_everything_at_once() {
    let marker = format!("runwright-test-twice-{}", std::process::id());
    let project = Project::with_pipeline(&format!(
        "job:\n  variables: {{MARK: {marker}}}\n  script:\n    - trap '' TERM\n    - setsid sleep 600 &\n    - echo ready\n    - while true; do sleep 1; done\n  after_script: [echo not-after-abort]\n",
    ));
    let mut run = project.start(&["run"]);
    project.wait_for("job | ready");
    interrupt(run.id(), "-INT");
    // Two signals sent at once may be delivered as one.
    project.wait_for("canceling;");
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
fn other_terminating_signals_have_the_same_exit_code() {
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

#[test]
fn job_cannot_reach_the_terminal_of_the_user() {
    let project = Project::with_pipeline(
        "job:\n  script: [\"(echo \\\"$TOKEN\\\" >/dev/tty) 2>/dev/null || echo NO-TERMINAL\"]\n",
    );
    let program = env!("CARGO_BIN_EXE_runwright");
    let output = Command::new("script")
        .args([
            "-qec",
            &format!("{program} run --secret TOKEN"),
            "/dev/null",
        ])
        .current_dir(project.dir())
        .env("RUNWRIGHT_HOME", project.home())
        .env("TOKEN", "0123456789abcdef")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("NO-TERMINAL"), "{printed}");
    assert!(!printed.contains("0123456789abcdef"), "{printed}");
}

#[test]
fn signals_work_while_the_output_is_not_read() {
    let project = Project::with_pipeline(
        "job:\n  script: [\"head -c 300000 /dev/zero | tr '\\\\0' '\\\\n'\", sleep 600]\n",
    );
    let mut run = project
        .command(&["run"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let home = project.home();
    wait_until("the job to have written much", || {
        size_of(&home) > 1_000_000
    });
    interrupt(run.id(), "-TERM");
    // The test has read no byte of its standard output.
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());
}

fn size_of(dir: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

#[test]
fn jobs_do_not_inherit_ignored_signals() {
    let project = Project::with_pipeline("job: {script: [grep SigIgn /proc/self/status]}\n");
    let run = project.command(&["run"]);
    // As under `nohup`, or in the background of a script.
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP INT QUIT USR1; exec \"$0\" run"]);
    shell.arg(run.get_program()).current_dir(project.dir());
    shell.env("RUNWRIGHT_HOME", project.home());
    let done = crate::project::Done::from(shell.output().unwrap());
    done.expect_code(0)
        .expect_text("job | SigIgn:\t0000000000000000\n");
}
