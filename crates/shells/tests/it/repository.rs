//! Real repositories with sources.

use crate::support::{new_command, require};
use std::fs;
use std::path::{Path, PathBuf};

/// A repository with commits.
#[derive(Debug)]
pub(crate) struct Repository {
    path: PathBuf,
}

impl Repository {
    /// Creates an empty repository in a new directory.
    pub(crate) fn new(path: PathBuf) -> Self {
        require("git", "git");
        fs::create_dir_all(&path).expect("a directory");
        let repository = Self { path };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, commits everything and returns the commit.
    pub(crate) fn commit(&self, file: &str, content: &str) -> String {
        let file = self.path.join(file);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        fs::write(file, content).expect("a file");
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", content]);
        self.head()
    }

    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Adds `other` as the submodule `name`, with a relative URL, and returns the commit.
    pub(crate) fn add_submodule(&self, other: &Self, name: &str) -> String {
        let directory = other
            .path
            .file_name()
            .expect("a name")
            .to_str()
            .expect("UTF-8");
        self.git(&[
            "submodule",
            "--quiet",
            "add",
            &format!("../{directory}"),
            name,
        ]);
        self.git(&["commit", "--quiet", "--message", "submodule"]);
        self.head()
    }

    /// Runs git in the repository and returns its output.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.path, args)
    }
}

/// Runs git in `directory`, which must succeed, and returns its output.
pub(crate) fn git(directory: &Path, args: &[&str]) -> String {
    let mut command = new_command("git");
    for config in [
        "user.name=Tester",
        "user.email=tester@example.com",
        "protocol.file.allow=always",
    ] {
        command.args(["-c", config]);
    }
    command
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().expect("git starts");
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
