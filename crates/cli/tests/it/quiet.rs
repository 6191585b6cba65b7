//! `--quiet`: the result alone.

use crate::project::Project;

const FILE: &str = "
good: {script: [echo well done]}
bad: {script: [echo from the script, exit 3]}
";

#[test]
fn quiet_run_prints_the_failed_jobs_and_the_summary() {
    let project = Project::with_pipeline(FILE);
    let good = project.runwright(&["run", "-q", "good"]).expect_code(0);
    assert_eq!(good.stderr, "");
    assert_eq!(good.stdout.lines().count(), 1, "{good:?}");
    let bad = project.runwright(&["run", "--quiet"]).expect_code(1);
    assert!(
        bad.stdout
            .contains("bad failed in stage test with exit code 3")
    );
    assert!(bad.stdout.contains("| from the script"), "{bad:?}");
    assert!(!bad.stdout.contains("well done"), "{bad:?}");
    // A setting yields to the option, and the log is complete.
    project.write(
        ".runwright.toml",
        "[run]\nverbose = true\noutput = 'prefix'\n",
    );
    let done = project.runwright(&["retry", "-q"]).expect_code(1);
    assert!(!done.stdout.contains("bad |"), "{done:?}");
    project
        .runwright(&["logs", "good"])
        .expect_code(0)
        .expect_text("well done");
    project
        .runwright(&["run", "-q", "-v"])
        .expect_code(2)
        .expect_text("cannot be used with");
}
