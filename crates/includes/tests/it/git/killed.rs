//! Programs that are killed while a Git waits.

use super::asker::OneRoute;
use crate::program::program;
use includes::{GitRoute, GitServers};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Returns a library whose SSH command writes its process id to `ssh.pid` in a directory, and never answers.
pub(crate) fn silent_servers(dir: &Path) -> GitServers {
    let route = GitRoute::Ssh {
        user: "git".to_owned(),
        host: "localhost".to_owned(),
        port: None,
    };
    let pid = dir.join("ssh.pid").display().to_string();
    let ssh = format!("sh -c 'echo $$ >{pid}.new; mv {pid}.new {pid}; sleep 600'");
    let path = std::env::var("PATH").unwrap_or_default();
    GitServers::new(Arc::new(OneRoute(Some(route))), dir.join("git")).with_environment([
        ("PATH", path),
        ("HOME", dir.display().to_string()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ("GIT_SSH_COMMAND", ssh),
        ("GIT_SSH_VARIANT", "simple".to_owned()),
    ])
}

/// Waits until something is so; the test fails if it never is.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(20));
    }
}

/// Returns whether a process runs; one that has ended and is not collected does not.
fn runs(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|it| !it.contains(") Z "))
}

/// Returns whether a process was given a journal of this directory, as a guardian is.
fn guards(dir: &Path) -> bool {
    let journal = format!("{}/", dir.join("git/journal").display());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .any(|line| line.contains(&journal))
}

#[test]
fn killed_program_leaves_no_git_behind() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut asking = program("ask git", dir.path()).spawn().expect("started");
    let pid = until("git starts its SSH", || {
        let error = fs::read_to_string(dir.path().join("error"));
        assert!(error.is_err(), "{error:?}");
        fs::read_to_string(dir.path().join("ssh.pid")).ok()
    });
    assert!(runs(pid.trim()));
    // It is started beside the run, which may be first.
    until("the guardian is there", || guards(dir.path()).then_some(()));
    asking.kill().expect("killed");
    asking.wait().expect("ended");
    until("the guardian ends git and its SSH", || {
        (!runs(pid.trim())).then_some(())
    });
    until("the guardian removes what it wrote", || {
        let left = fs::read_dir(dir.path().join("git/journal")).ok()?;
        (left.count() == 0).then_some(())
    });
}
