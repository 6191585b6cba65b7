//! A program without an agent for its jobs.

use crate::docker::{nothing_left, run_alone};
use crate::project::Project;

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
    done.expect_code(0)
        .expect_text("second | out")
        .expect_text("second | by exec");
    let logs = ["first", "second"].map(|job| project.runwright(&["logs", job]).stdout);
    let reason = "stages are run by exec, without the agent: \
                  read the agent /no/such/agent: No such file or directory";
    let counts = logs.each_ref().map(|log| log.matches(reason).count());
    assert_eq!(counts, [1, 0], "{logs:?}");
    nothing_left(&project);
}
