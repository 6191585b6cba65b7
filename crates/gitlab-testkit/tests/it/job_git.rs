//! The repository of a job.

use crate::client::try_send;
use crate::runner::{finish, payload, request};
use gitlab_testkit::{Endpoint, JobServer, Rule};
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "a test of what git does")]
pub(crate) fn clone(url: &str, folder: &std::path::Path) -> bool {
    let mut git = Command::new("git");
    git.env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.args([
        "-c",
        "credential.helper=",
        "clone",
        "--quiet",
        "--recurse-submodules",
        url,
    ])
    .arg(folder);
    git.output().expect("git starts").status.success()
}

#[test]
fn running_job_clones_its_repository() {
    let server = JobServer::start();
    let project = server.project("group/project");
    project.commit(&[("src/main.txt", "hello\n")]);
    server.queue(payload(1));
    let folder = tempfile::tempdir().unwrap();
    let url = project.clone_url();
    let with_token = url.replace("http://", "http://gitlab-ci-token:token-1@");
    assert!(
        !clone(&with_token, &folder.path().join("a")),
        "the job does not run yet"
    );
    request(&server);
    assert!(clone(&with_token, &folder.path().join("b")));
    assert!(!clone(&url, &folder.path().join("c")));
    let text = std::fs::read_to_string(folder.path().join("b/src/main.txt")).unwrap();
    assert_eq!(text, "hello\n");
    finish(&server, 1, "success", "");
    assert!(
        !clone(&with_token, &folder.path().join("d")),
        "the job has ended"
    );
    server.rule(Rule::on(Endpoint::Git).status(500));
    let path = "/group/project.git/info/refs?service=git-upload-pack";
    assert_eq!(
        try_send(server.address(), "GET", path, &[], b"")
            .unwrap()
            .status,
        500
    );
    assert!(server.with_state(|state| state.count(Endpoint::Git)) >= 7);
}
