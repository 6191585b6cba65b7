//! A program without an agent for its jobs.

use crate::docker::{nothing_left, run_alone};
use crate::project::{Done, Project};

#[test]
fn jobs_run_by_exec_and_the_reason_is_reported_once() {
    let project = Project::with_pipeline(
        "default:\n  image: runwright-test/busybox:1\n\
         first:\n  script: [test -f .gitlab-ci.yml, echo out > file]\n\
        \x20 artifacts: {paths: [file]}\n\
         second:\n  needs: [first]\n\
        \x20 script: [cat file, 'test -e /.runwright/agent || echo \"by exec\"']\n",
    );
    let done = run_alone(&project, "/no/such/agent");
    let done = done
        .expect_code(0)
        .expect_text("second | out")
        .expect_text("second | by exec");
    let warnings = done.stdout.matches("WARNING: scripts run by exec").count();
    assert_eq!(warnings, 1, "{}", done.stdout);
    let logs = ["first", "second"].map(|job| project.runwright(&["logs", job]).stdout);
    let reason = "scripts run by exec, without the agent: \
                  read the agent /no/such/agent: No such file or directory";
    let counts = logs.each_ref().map(|log| log.matches(reason).count());
    assert_eq!(counts, [1, 0], "{logs:?}");
    let listed = project
        .command(&["executors"])
        .env("RUNWRIGHT_AGENT", "/no/such/agent")
        .output();
    Done::from(listed.unwrap())
        .expect_code(0)
        .expect_text("agent: none, scripts run by exec: read the agent /no/such/agent");
    nothing_left(&project);
}
