//! The file that keeps the log.

use trace::{Spool, SpoolError};

#[test]
fn log_is_read_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::create(folder.path().join("log")).unwrap();
    let reader = spool.reader().unwrap();
    let mut buffer = [0; 16];
    assert_eq!(reader.read_at(0, &mut buffer).unwrap(), 0);
    spool.append(b"hello ").unwrap();
    spool.append(b"world").unwrap();
    assert_eq!(reader.available(), 11);
    let count = reader.read_at(6, &mut buffer).unwrap();
    assert_eq!(&buffer[..count], b"world");
    assert_eq!(reader.read_at(11, &mut buffer).unwrap(), 0);
    assert_eq!(spool.digest().bytes, 11);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_log() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::create(folder.path().join("log")).unwrap();
    let mode = std::fs::metadata(spool.path())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn another_log_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    std::fs::write(&path, "old").unwrap();
    let error = Spool::create(&path).unwrap_err();
    assert!(matches!(error, SpoolError::Create { .. }));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

#[test]
fn vanished_log_is_a_read_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::create(folder.path().join("log")).unwrap();
    std::fs::remove_file(spool.path()).unwrap();
    spool.append(b"still fine").unwrap();
    let error = spool.reader().unwrap_err();
    assert!(matches!(error, SpoolError::Read { .. }));
}
