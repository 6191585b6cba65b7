use git::GitProcesses;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A repository with one commit.
#[derive(Debug)]
pub(crate) struct Repository {
    directory: TempDir,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self {
            directory: tempfile::tempdir().expect("a directory"),
        };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.write("src/main.c", "int main;\n");
        repository.commit("first\n\nThe body.\n");
        repository
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(&path, text).expect("written");
        path
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.path(), args)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test arranges a repository with git"
)]
pub(crate) fn git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(directory)
        .output()
        .expect("git runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {stderr}");
    let stdout = String::from_utf8_lossy(&output.stdout);
    stdout.trim_end().to_owned()
}

pub(crate) fn processes() -> GitProcesses {
    GitProcesses::start(None).expect("processes can be started")
}
