//! A program for whose jobs no agent is found.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::docker::{address, nothing_left};
use crate::project::{Done, Project};
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn jobs_run_by_exec_and_a_run_says_why_once() {
    let project = Project::with_pipeline(
        "default:\n  image: runwright-test/busybox:1\n\
         first:\n  script: [test -f .gitlab-ci.yml, echo out > file]\n\
        \x20 artifacts: {paths: [file]}\n\
         second:\n  needs: [first]\n\
        \x20 script: [cat file, 'test -e /.runwright/agent || echo \"by exec\"']\n",
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
        .expect_text("second | out")
        .expect_text("second | by exec");
    let logs = ["first", "second"].map(|job| project.runwright(&["logs", job]).stdout);
    let reason = "stages are run by exec, without the agent: \
                  there is no runwright-agent beside this program, none in it, and RUNWRIGHT_AGENT names none";
    let told = logs.each_ref().map(|log| log.matches(reason).count());
    assert_eq!(told, [1, 0], "{logs:?}");
    nothing_left(&project);
}
