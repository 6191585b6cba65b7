//! A repository for measurements.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::Bench;

/// A few tracked files, so that a copy of the tree has something to copy.
const FILES: usize = 20;

/// A typical Git repository: an author, a remote with a default branch, some files.
#[derive(Debug)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    /// Creates a repository at `root` with this `.gitlab-ci.yml`, and commits everything.
    ///
    /// # Errors
    ///
    /// Fails if the files cannot be written or git fails.
    pub async fn create(bench: &Bench, root: &Path, yaml: &str) -> anyhow::Result<Self> {
        let sources = root.join("src");
        std::fs::create_dir_all(&sources).context("make a project")?;
        std::fs::write(root.join(".gitlab-ci.yml"), yaml)?;
        for number in 0..FILES {
            let file = sources.join(format!("{number}.txt"));
            std::fs::write(file, "some text\n".repeat(40))?;
        }
        let commands: [&[&str]; 8] = [
            &["init", "--quiet", "--initial-branch", "main"],
            &["config", "user.name", "Bench"],
            &["config", "user.email", "bench@example.com"],
            &["add", "."],
            &["commit", "--quiet", "--message", "First"],
            // Peers read all of these settings, and print long warnings where one is missing.
            &[
                "remote",
                "add",
                "origin",
                "git@example.com:group/project.git",
            ],
            &["update-ref", "refs/remotes/origin/main", "HEAD"],
            &[
                "symbolic-ref",
                "refs/remotes/origin/HEAD",
                "refs/remotes/origin/main",
            ],
        ];
        for arguments in commands {
            let git = bench.command("git").args(arguments.iter().copied());
            bench.run(&git.current_dir(root)).await?.succeeded()?;
        }
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// Returns the root of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }
}
