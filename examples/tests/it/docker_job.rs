#![expect(
    clippy::disallowed_methods,
    reason = "the test drives the example from outside"
)]

use std::path::Path;
use std::process::{Command, Output};

/// Runs the example's program, which Cargo has built beside this test, with this engine.
fn example(engine: &str, image: &str) -> Output {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().and_then(Path::parent).unwrap();
    Command::new(folder.join("examples/docker-job"))
        .arg(image)
        .env("DOCKER_HOST", engine)
        .output()
        .unwrap()
}

#[test]
fn example_job_runs_in_a_container() {
    let engine = std::env::var("RUNWRIGHT_TEST_DOCKER");
    let engine = engine
        .expect("RUNWRIGHT_TEST_DOCKER says where Docker is: run the tests by `cargo xtask test`");
    let output = example(&engine, "runwright-test/busybox:1");
    let log = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{log}{errors}");
    assert!(log.contains("Hello from "), "{log}");
    assert!(log.contains(", as user 0"), "{log}");
}

#[test]
fn example_reports_a_missing_engine() {
    let nowhere = tempfile::tempdir().unwrap();
    let engine = format!("unix://{}/docker.sock", nowhere.path().display());
    let output = example(&engine, "busybox");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("the socket does not exist"), "{errors}");
}
