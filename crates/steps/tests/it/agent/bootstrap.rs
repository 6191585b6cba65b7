//! `bootstrap`: the program copies itself.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;
use std::thread;

use steps::agent::PROGRAM;

use super::support::{agent, errors, run};

#[test]
fn bootstrap_copies_the_program_once() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().to_str().unwrap();
    let copy = root.path().join(PROGRAM);
    assert!(run(&["bootstrap", directory]).status.success());
    let first = fs::metadata(&copy).unwrap();
    assert_eq!(first.permissions().mode() & 0o7777, 0o755);
    assert_eq!(
        fs::read(&copy).unwrap(),
        fs::read(env!("CARGO_BIN_EXE_runwright-agent")).unwrap()
    );
    // A second copy changes nothing.
    assert!(run(&["bootstrap", directory]).status.success());
    assert_eq!(fs::metadata(&copy).unwrap().ino(), first.ino());
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}

#[test]
fn concurrent_replacement_is_atomic() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().to_str().unwrap();
    let copy = root.path().join(PROGRAM);
    fs::write(&copy, "an older one").unwrap();
    let mut children: Vec<_> = (0..8)
        .map(|_| {
            agent(&["bootstrap", directory])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let whole = fs::metadata(env!("CARGO_BIN_EXE_runwright-agent"))
        .unwrap()
        .len();
    // A reader sees the old file or the complete new one.
    while children
        .iter_mut()
        .any(|child| child.try_wait().unwrap().is_none())
    {
        let length = fs::metadata(&copy).unwrap().len();
        assert!(length == 12 || length == whole, "{length}");
        thread::yield_now();
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    assert_eq!(fs::metadata(&copy).unwrap().len(), whole);
}

#[test]
fn missing_directory_is_named() {
    let refused = run(&["bootstrap", "/no/such/directory"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = errors(&refused);
    assert!(
        said.contains("copy the program into /no/such/directory"),
        "{said}"
    );
}
