//! `serve`: the directory, the socket, the shutdown.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use super::support::{Serving, agent, errors, eventually, run};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn socket_is_private_to_the_user() {
    // R-STEP-06
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("deep/agent");
    let serving = Serving::in_directory(&directory);
    assert_eq!(serving.socket, directory.join("agent.sock"));
    assert_eq!((mode(&directory), mode(&serving.socket)), (0o700, 0o600));
    UnixStream::connect(&serving.socket).unwrap();
}

#[test]
fn socket_may_be_in_any_folder() {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let socket = root.path().join("s");
    let serving = Serving::start(&["--socket", socket.to_str().unwrap()]);
    assert_eq!(serving.socket, socket);
    assert_eq!(mode(root.path()), 0o1777);
    assert_eq!(mode(&root.path().join("s.d")), 0o700);
}

#[test]
fn only_the_socket_of_a_dead_agent_is_taken_over() {
    let root = tempfile::tempdir().unwrap();
    let mut first = Serving::in_directory(root.path());
    let refused = run(&["serve", "--directory", root.path().to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    let said = errors(&refused);
    assert!(
        said.contains("another agent already listens on socket"),
        "{said}"
    );

    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let socket = &first.socket;
    let inode = fs::symlink_metadata(socket).unwrap().ino();
    let second = Serving::in_directory(root.path());
    UnixStream::connect(&second.socket).unwrap();
    drop(first);
    assert!(second.socket.exists(), "{inode}");
}

#[test]
fn unwritable_directory_is_named() {
    // R-STEP-01
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let below = file.join("agent");
    let (file, below) = (file.to_str().unwrap(), below.to_str().unwrap());
    let long = format!("/tmp/{}", "x".repeat(120));
    for (option, value, expected) in [
        ("--directory", file, "create the directory"),
        ("--directory", below, "create the directory"),
        ("--directory", long.as_str(), "the path of the socket has"),
    ] {
        let refused = run(&["serve", option, value]);
        let said = errors(&refused);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(said.contains(value), "{said}");
        assert!(refused.stdout.is_empty());
    }
    let _ = fs::remove_dir(&long);
    let directory = root.path().join("d");
    let refused = agent(&["serve", "--directory", directory.to_str().unwrap()])
        .args(["--socket", "/no/such/folder/s"])
        .output()
        .unwrap();
    let said = errors(&refused);
    assert!(said.contains("open socket /no/such/folder/s"), "{said}");
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn unknown_arguments_exit_with_two_and_the_usage() {
    for arguments in [&["sevre"][..], &["serve", "--sokcet", "x"], &[]] {
        let refused = run(arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(errors(&refused).contains("usage: runwright-agent serve"));
        assert!(refused.stdout.is_empty());
    }
    let version = run(&["--version"]);
    let expected = format!("runwright-agent {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8(version.stdout).unwrap(), expected);
}

#[test]
fn entry_point_that_drops_arguments_is_harmless() {
    let kept = agent::<&str>(&[])
        .env(steps::agent::ARGV_VARIABLE, r#"["--version"]"#)
        .output()
        .unwrap();
    assert!(kept.status.success());
    assert!(kept.stdout.starts_with(b"runwright-agent "));
}

#[test]
fn signals_end_the_agent_in_order() {
    for signal in [Signal::TERM, Signal::INT] {
        let root = tempfile::tempdir().unwrap();
        let serving = Serving::in_directory(root.path());
        let socket = serving.socket.clone();
        // A silent client blocks nothing.
        let _connected = UnixStream::connect(&socket).unwrap();
        serving.signal(signal);
        let (status, said) = serving.wait();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(!socket.exists());
    }
}

#[test]
fn agent_ends_itself_without_clients() {
    let root = tempfile::tempdir().unwrap();
    // On a busy machine the grace may be over before a client can connect.
    let visited = (0..10).find_map(|_| visited(root.path()));
    let (serving, connected) = visited.expect("it stays while a client is connected");
    drop(connected);
    let socket = serving.socket.clone();
    let (status, said) = serving.wait();
    assert!(
        said.contains("no client was connected for too long"),
        "{said}"
    );
    assert_eq!(status.code(), Some(0));
    eventually("the socket is gone", || !socket.exists());
}

/// Starts an agent and stays connected longer than its grace; returns both if it still runs.
fn visited(directory: &Path) -> Option<(Serving, UnixStream)> {
    let directory = directory.to_str().unwrap();
    let words = ["--directory", directory, "--orphan-grace", "300ms"];
    let mut serving = Serving::start(&words);
    let connected = UnixStream::connect(&serving.socket).ok()?;
    std::thread::sleep(Duration::from_secs(1));
    let lives = serving.child.try_wait().unwrap().is_none();
    lives.then_some((serving, connected))
}
