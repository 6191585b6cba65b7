//! A program that has the agent inside.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::docker::{address, nothing_left};
use crate::project::{Done, Project};
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn a_program_alone_brings_the_agent_of_its_jobs() {
    let project = Project::with_pipeline(
        "job:\n  image: runwright-test/busybox:1\n  script:\n\
        \x20   - tr '\\0' ' ' </proc/1/cmdline\n",
    );
    let alone = project.scratch().join("alone");
    fs::create_dir(&alone).unwrap();
    let program = alone.join("runwright");
    fs::copy(env!("CARGO_BIN_EXE_runwright"), &program).unwrap();
    let done: Done = Command::new(program)
        .args(["run", "--executor", "docker"])
        .current_dir(project.dir())
        .env("RUNWRIGHT_HOME", project.home())
        .env("DOCKER_HOST", address())
        .env_remove("RUNWRIGHT_AGENT")
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into();
    done.expect_code(0)
        .expect_text("job | /.runwright/agent serve");
    nothing_left(&project);
}
