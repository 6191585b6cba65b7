//! Temporary directories.

use std::os::unix::fs::PermissionsExt;

use process::{Settings, Supervisor};

use crate::support::{BOTH, supervisor};

#[tokio::test]
async fn temporary_directory_is_private_and_removed_on_drop() {
    let parent = tempfile::tempdir().unwrap();
    let supervisor = supervisor(BOTH[0]);
    let first = supervisor.temp_dir(parent.path(), "job-").unwrap();
    let second = supervisor.temp_dir(parent.path(), "job-").unwrap();
    assert_ne!(first.path(), second.path());
    let mode = std::fs::metadata(first.path())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    std::fs::write(first.path().join("file"), "x").unwrap();
    drop(first);
    second.remove().await.unwrap();
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn missing_parent_is_named() {
    let supervisor = supervisor(BOTH[0]);
    let error = supervisor
        .temp_dir("/no/such/parent".as_ref(), "job-")
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("temporary directory /no/such/parent/job-"),
        "{error}"
    );
}

#[tokio::test]
async fn journal_has_a_directory_while_it_exists() {
    let state = tempfile::tempdir().unwrap();
    let parent = tempfile::tempdir().unwrap();
    let supervisor = Supervisor::start(Settings {
        state_dir: Some(state.path().to_owned()),
        ..Settings::default()
    })
    .unwrap();
    let journal = state.path().join("journal").join(supervisor.id());
    let records = |sign: &str| {
        let text = std::fs::read_to_string(&journal).unwrap();
        let start = format!("{sign}dir\t{}/", parent.path().display());
        text.lines().filter(|line| line.starts_with(&start)).count()
    };
    let dropped = supervisor.temp_dir(parent.path(), "job-").unwrap();
    let removed = supervisor.temp_dir(parent.path(), "job-").unwrap();
    assert_eq!((records(""), records("-")), (2, 0));
    drop(dropped);
    removed.remove().await.unwrap();
    let missing = parent.path().join("no/such");
    assert!(supervisor.temp_dir(&missing, "job-").is_err());
    assert_eq!((records(""), records("-")), (3, 3));
    supervisor.shutdown().await.unwrap();
}
