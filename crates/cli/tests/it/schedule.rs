//! Concurrency and timeouts of jobs.

use crate::project::{Project, processes_with};
use std::fs;

/// Runs a pipeline with at most this many jobs at once, and expects it to pass.
fn run_with(concurrency: &str, project: &Project) {
    let spot = spot(project);
    let deadline = ["run", "--timeout", "2 minutes"];
    let settings = ["--variable", &spot, "--concurrency", concurrency];
    project
        .runwright(&[&deadline[..], &settings].concat())
        .expect_code(0);
}

/// Returns the variable that gives jobs a shared directory.
fn spot(project: &Project) -> String {
    format!("SPOT={}", project.scratch().display())
}

#[test]
fn stage_runs_as_many_jobs_at_once_as_allowed() {
    // R-PIPE-26
    // Each of the two jobs ends only after both have started.
    let meet = "
    - touch \"$SPOT/$CI_JOB_NAME\"
    - until [ -e \"$SPOT/a\" ] && [ -e \"$SPOT/b\" ]; do sleep 0.01; done
";
    let pair = Project::with_pipeline(&format!("a:\n  script:{meet}b:\n  script:{meet}"));
    run_with("2", &pair);

    // Each job creates a directory while it runs, and counts the ones it sees.
    let row = Project::with_pipeline(
        "job:
  parallel: 4
  script:
    - mkdir \"$SPOT/in.$CI_NODE_INDEX\"
    - ls -d \"$SPOT\"/in.* | wc -l >> \"$SPOT/seen\"
    - sleep 0.02
    - rmdir \"$SPOT/in.$CI_NODE_INDEX\"
",
    );
    run_with("1", &row);
    let seen = fs::read_to_string(row.scratch().join("seen")).unwrap();
    let seen: Vec<&str> = seen.lines().map(str::trim).collect();
    assert_eq!(seen, ["1"; 4]);
}

#[test]
fn job_timeout_applies_to_each_attempt_and_ends_all_its_processes() {
    // R-PIPE-45
    let project = Project::with_pipeline(
        "job:
  timeout: 15 seconds
  retry: 1
  script:
    - echo attempt >> \"$SPOT/attempts\"
    - sleep 600 &
    - sleep 600
",
    );
    let spot = spot(&project);
    project
        .runwright(&["run", "--variable", &spot])
        .expect_code(1)
        .expect_text("job_execution_timeout");
    let attempts = fs::read_to_string(project.scratch().join("attempts")).unwrap();
    assert_eq!(attempts, "attempt\nattempt\n");
    assert_eq!(processes_with(&spot), [] as [u32; 0]);
}
