//! The fast jobs of this project's own pipeline, run by its own binary.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn fast_jobs_of_our_own_pipeline_pass() {
    let home = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_runwright"))
        .args(["run", "--executor", "shell", "--stage", "check", "-C"])
        .arg(root)
        .env("RUNWRIGHT_HOME", home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}
