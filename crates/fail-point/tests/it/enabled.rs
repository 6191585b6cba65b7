//! What a point does when it is asked to.

#![expect(
    clippy::disallowed_methods,
    reason = "the cases end the process they run in"
)]

use fail_point::{VARIABLE, fail_point};
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Names the directory of the child's two files.
const DIR: &str = "FAIL_POINT_TEST_DIR";

/// The child's work: one step after the other.
fn work(dir: &Path) -> io::Result<()> {
    fail_point!("fail_point::test::first", fs::write(dir.join("first"), ""))?;
    fail_point!(
        "fail_point::test::second",
        fs::write(dir.join("second"), "")
    )
}

/// Not a case of its own: the cases start this binary with this test alone, and a directory.
#[test]
fn acts_as_program() {
    let Some(dir) = std::env::var_os(DIR) else {
        assert!(
            std::env::var_os(VARIABLE).is_none(),
            "started by a case only"
        );
        return;
    };
    if let Err(error) = work(Path::new(&dir)) {
        fs::write(Path::new(&dir).join("error"), error.to_string()).unwrap();
    }
}

fn program(dir: &Path, what: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "enabled::acts_as_program"])
        .env(DIR, dir)
        .env(VARIABLE, what)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(dir: &Path, what: &str) -> Output {
    program(dir, what).output().unwrap()
}

fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_program_is_killed_on_the_side_that_is_named() {
    for (what, left) in [
        ("kill before fail_point::test::second", vec!["first"]),
        (
            "kill after fail_point::test::second",
            vec!["first", "second"],
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let output = run(dir.path(), what);
        assert_eq!(output.status.signal(), Some(9), "{output:?}");
        assert_eq!(files(dir.path()), left, "{what}");
    }
}

#[test]
fn a_failed_step_is_not_taken_and_names_its_point() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), "error at fail_point::test::first");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(files(dir.path()), ["error"]);
    let error = fs::read_to_string(dir.path().join("error")).unwrap();
    assert_eq!(error, "fail point fail_point::test::first");
}

#[test]
fn a_pause_lasts_until_the_pipe_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let pipe = scratch.path().join("go");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let what = format!("pause after fail_point::test::first {}", pipe.display());
    let child = program(dir.path(), &what).spawn().unwrap();
    // Opening waits for the other side, which is at its pause then.
    let go = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    assert_eq!(files(dir.path()), ["first"]);
    drop(go);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(files(dir.path()), ["first", "second"]);
}

#[test]
fn a_record_has_all_points_and_those_that_were_reached() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let record = scratch.path().join("record");
    let output = run(dir.path(), &format!("record {}", record.display()));
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(record).unwrap();
    let lines = |word: &str| {
        let mut found: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix(word))
            .collect();
        found.sort_unstable();
        found
    };
    let names = ["early", "first", "second", "undisturbed"];
    let all = names.map(|name| format!("fail_point::test::{name}"));
    assert_eq!(lines("point "), all);
    assert_eq!(
        lines("reached "),
        ["fail_point::test::first", "fail_point::test::second"]
    );
}

#[test]
fn a_mistake_in_the_variable_is_loud() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), "kill before fail_point::test::third");
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(files(dir.path()), Vec::<String>::new());
}

#[test]
fn a_later_visit_can_be_meant() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), "kill before fail_point::test::first 2");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(files(dir.path()), ["first", "second"]);
}
