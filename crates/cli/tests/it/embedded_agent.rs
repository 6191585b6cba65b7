//! A program with an embedded agent.

use crate::docker::{nothing_left, run_alone};
use crate::project::Project;

#[test]
fn program_alone_supplies_the_agent_of_its_jobs() {
    let project = Project::with_pipeline(
        "job:\n  image: runwright-test/busybox:1\n  script:\n\
        \x20   - tr '\\0' ' ' </proc/1/cmdline\n",
    );
    let done = run_alone(&project, "");
    done.expect_code(0)
        .expect_text("job | /.runwright/agent serve");
    nothing_left(&project);
}
