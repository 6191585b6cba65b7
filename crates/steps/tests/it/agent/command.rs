//! The command of the agent, and orphans.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;

use super::support::{Serving, agent, errors, eventually};

/// Starts an agent with this script as its command.
fn beside(root: &Path, script: &str) -> Serving {
    let directory = root.to_str().unwrap();
    Serving::start(&["--directory", directory, "--", "sh", "-c", script])
}

#[test]
fn agent_exits_with_the_code_of_its_command() {
    for (script, code) in [("exit 42", 42), ("true", 0), ("kill -9 $$", 137)] {
        let root = tempfile::tempdir().unwrap();
        let serving = beside(root.path(), script);
        let socket = serving.socket.clone();
        let (status, said) = serving.wait();
        assert_eq!(status.code(), Some(code), "{said}");
        assert!(!socket.exists());
    }
}

#[test]
fn missing_command_is_named() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().to_str().unwrap();
    let serving = Serving::start(&["--directory", directory, "--", "/no/such/program"]);
    let (status, said) = serving.wait();
    assert_eq!(status.code(), Some(127));
    assert!(said.contains("/no/such/program"), "{said}");
}

#[test]
fn command_inherits_streams_but_not_agent_variables() {
    let root = tempfile::tempdir().unwrap();
    let script = "cat; env | grep ^RUNWRIGHT_AGENT; echo on error >&2";
    let words = ["serve", "--directory", root.path().to_str().unwrap()];
    let mut child = agent(&words)
        .args(["--", "sh", "-c", script])
        .env(steps::agent::ARGV_VARIABLE, "[]")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"input\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "input\n");
    let said = errors(&output);
    assert!(said.ends_with("on error\n"), "{said}");
}

#[test]
fn signal_ends_a_sleeping_command_gracefully() {
    let root = tempfile::tempdir().unwrap();
    let ready = root.path().join("ready");
    let script = format!(
        "trap 'echo bye >&2; exit 9' TERM; : > {}; sleep 600 & wait",
        ready.display()
    );
    let serving = beside(root.path(), &script);
    eventually("the trap is set", || ready.exists());
    serving.signal(Signal::TERM);
    let (status, said) = serving.wait();
    assert_eq!(said, "bye\n");
    assert_eq!(status.code(), Some(9));
}

#[test]
fn orphans_are_reaped_and_the_command_keeps_its_exit_code() {
    let root = tempfile::tempdir().unwrap();
    let (begun, go) = (root.path().join("begun"), root.path().join("go"));
    // Grandchildren whose parents are gone; they end at once, one in its own session.
    let script = format!(
        "i=0; while [ $i -lt 100 ]; do (sh -c 'exit 3' & setsid sh -c : &); i=$((i+1)); done; \
         : > {}; while [ ! -e {} ]; do sleep 0.05; done; exit 7",
        begun.display(),
        go.display()
    );
    let serving = beside(root.path(), &script);
    eventually("all have started", || begun.exists());
    let mut left = Vec::new();
    eventually("nothing is left but the command", || {
        left = serving.children();
        matches!(left[..], [(_, state)] if state != 'Z')
    });
    fs::write(&go, "").unwrap();
    let (status, said) = serving.wait();
    assert_eq!(status.code(), Some(7), "{said}");
}
