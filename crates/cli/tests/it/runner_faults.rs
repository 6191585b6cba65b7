//! Faults known from other runners, each against the binary.
//!
//! | fault | event | tested in |
//! |---|---|---|
//! | 1 | the runner is killed in the middle of a job | `killed_runner`, `fail_points` |
//! | 6 | a second termination signal | here |
//! | 20 | the clock is set | `clock` |
//! | 21 | the disk is full while a log is written | `full_disk` |
//! | 22 | the disk is full while artifacts or a cache are stored | `full_disk`; `round_trip` of `archive` |
//! | 34 | a job leaves a daemon | `background_processes` |
//! | 35 | a background process holds the output | `background_processes` |
//! | 36 | ten thousand zombies, a fork bomb | `background_processes` |
//! | 37 | endless output | `excessive_output` |
//! | 38 | an endless line, bytes that are not text | `excessive_output` |
//! | 39 | ten thousand jobs, and one that needs them all | `large_pipelines`; `large` of `pipeline` |
//! | 40 | a second runner in the same directory | here |

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Project, files_below, processes_with, wait_until};
use serde_json::Value;
use std::fs;
use std::process::Command;

fn terminate(pid: u32) {
    let status = Command::new("kill")
        .args(["-TERM", &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn second_signal_ends_it_at_once_and_finished_jobs_are_recorded() {
    // fault 6
    let marker = format!("runwright-test-sigterm-{}", std::process::id());
    let project = Project::with_pipeline(&format!(
        "stages: [a, b]\ndone: {{stage: a, script: [echo done]}}\nstubborn:\n  stage: b\n  variables: {{MARK: {marker}}}\n  script:\n    - trap '' TERM INT\n    - setsid sleep 600 &\n    - echo ready\n    - while true; do sleep 1; done\n  after_script: [echo not-after-abort]\n",
    ));
    let mut run = project.start(&["run"]);
    project.wait_for("stubborn | ready");
    terminate(run.id());
    project.wait_for("canceling;");
    terminate(run.id());
    let status = run.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{}", project.printed());
    assert!(
        !project.printed().contains("stubborn | not-after-abort"),
        "{}",
        project.printed()
    );
    wait_until("the job's processes to be gone", || {
        processes_with(&marker).is_empty()
    });
    assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());

    // Each line of the journal is readable, and the finished jobs are recorded.
    let files = files_below(&project.home());
    let journal = files.iter().find(|path| path.ends_with("journal.jsonl"));
    let journal = fs::read_to_string(journal.expect("there is a journal")).unwrap();
    assert!(journal.ends_with('\n'), "{journal}");
    let lines = journal.lines().map(serde_json::from_str::<Value>);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().unwrap();
    let is_finished = |name: &str| {
        let mut lines = lines.iter();
        lines.any(|line| line["type"] == "job_finished" && line["job"] == name)
    };
    assert!(is_finished("done"), "{journal}");
    let done = project.runwright(&["history", "--json"]).expect_code(0);
    let runs: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(runs[0]["id"], 1, "{runs}");
    assert_ne!(runs[0]["state"], "running", "{runs}");
}

#[test]
fn second_run_in_place_is_refused_and_names_the_first() {
    // fault 40
    let project = Project::with_pipeline(
        "job:\n  script: [echo ready, \"while test ! -e $GO; do sleep 0.05; done\"]\n",
    );
    let go = project.scratch().join("go");
    let given = format!("GO={}", go.display());
    let mut run = project.start(&["run", "--in-place", "--variable", &given]);
    project.wait_for("job | ready");
    let second = project.runwright(&["run", "--in-place"]).expect_code(3);
    let holder = format!("as process {}", run.id());
    let second = second
        .expect_text(&holder)
        .expect_text("without --in-place");
    assert!(!second.all().contains("job | "), "{second:?}");
    // In a copy of the tree a second run is possible.
    fs::write(&go, "").unwrap();
    project
        .runwright(&["run", "--variable", &given])
        .expect_code(0);
    assert_eq!(run.wait().unwrap().code(), Some(0), "{}", project.printed());
    project
        .runwright(&["run", "--in-place", "--variable", &given])
        .expect_code(0);
    assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());
}
