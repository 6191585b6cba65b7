//! Git with a fixed environment and a clock of its own, independent of the user's settings.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns a `git` command for a folder, isolated from the environment of the user.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate is for tests, and may import no other of the workspace"
)]
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.env_clear().current_dir(folder);
    environment(|name, value| {
        command.env(name, value);
    });
    command.env("HOME", folder);
    command.stdin(Stdio::null());
    command
}

/// Passes the variables of that environment to a function, except `HOME`.
pub(crate) fn environment(mut set: impl FnMut(&str, &str)) {
    let path = std::env::var("PATH").unwrap_or_default();
    for (name, value) in [
        ("PATH", path.as_str()),
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_AUTHOR_NAME", "Test"),
        ("GIT_AUTHOR_EMAIL", "test@example.com"),
        ("GIT_COMMITTER_NAME", "Test"),
        ("GIT_COMMITTER_EMAIL", "test@example.com"),
    ] {
        set(name, value);
    }
}

/// Runs `git` and returns its output, or `None` if it fails.
pub(crate) fn ask(folder: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let output = command(folder).args(args).output().expect("git starts");
    output.status.success().then_some(output.stdout)
}

/// Runs `git` with `input` on stdin and returns its output without the final newline.
pub(crate) fn run(folder: &Path, args: &[&str], input: &[u8]) -> String {
    let mut child = command(folder)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git starts");
    // Git reads all of its input before its output can fill a pipe, so this cannot deadlock.
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input).expect("git reads its input");
    }
    let output = child.wait_with_output().expect("git ends");
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}
