//! Pipelines with more jobs than anyone writes by hand.

use crate::project::Project;
use std::fmt::Write;

/// Returns a pipeline of many jobs, and one that needs them all.
fn fan_in(jobs: usize) -> String {
    let mut text = "stages: [out, in]\n".to_owned();
    for job in 0..jobs {
        writeln!(text, "job-{job}: {{stage: out, script: [echo ran-{job}]}}").unwrap();
    }
    text.push_str("last: {stage: in, script: [echo all-are-there]}\n");
    text
}

#[test]
fn job_with_three_hundred_needs_runs() {
    // fault 39
    let project = Project::with_pipeline(&fan_in(300));
    let done = project.runwright(&["run"]).expect_code(0);
    let ran = done.stdout.matches(" | ran-").count();
    assert_eq!(ran, 300);
    let done = done.expect_text("| all-are-there");
    done.expect_text("pipeline 1: success (301 success)");
    assert!(project.leftovers().is_empty());
}

#[test]
fn ten_thousand_jobs_are_planned() {
    // fault 39
    let project = Project::with_pipeline(&fan_in(10_000));
    let done = project.runwright(&["run", "--dry-run"]).expect_code(0);
    assert_eq!(done.stdout.matches("$ echo ran-").count(), 10_000);
    assert!(done.stdout.ends_with("$ echo all-are-there\n"));
}
