//! A repository for one test.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests make repositories from outside"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use workstation::{LocalPipeline, LocalProject, PipelineOptions, SituationOptions};

/// A working tree with one commit, and an empty home directory.
#[derive(Debug)]
pub(crate) struct Project {
    scratch: TempDir,
}

/// The default pipeline file of the tests.
pub(crate) const PIPELINE: &str = "job: {script: make}\n";

impl Project {
    /// Returns a repository whose branch `main` has one commit.
    pub(crate) fn new() -> Self {
        let project = Self::without_git();
        project.git(&["init", "-q", "-b", "main"]);
        project.write(".gitlab-ci.yml", PIPELINE);
        project.commit("first");
        project
    }

    /// Returns an empty directory.
    pub(crate) fn without_git() -> Self {
        let project = Self {
            scratch: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(project.dir()).unwrap();
        fs::create_dir(project.home()).unwrap();
        project
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.scratch.path().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.dir().join(path), text.as_ref());
    }

    /// Writes a file in the home directory.
    pub(crate) fn write_home(&self, path: &str, text: &str) {
        write(&self.home().join(path), text.as_bytes());
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Ada Author"])
            .args(["-c", "user.email=ada@example.com"])
            .args(arguments)
            .current_dir(self.dir())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits all files.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Pretends that `branch` was pushed at `revision`.
    pub(crate) fn pushed(&self, branch: &str, revision: &str) {
        self.git(&[
            "update-ref",
            &format!("refs/remotes/origin/{branch}"),
            revision,
        ]);
    }

    /// Returns options that hide the files of the user who runs the tests.
    pub(crate) fn options(&self) -> PipelineOptions {
        PipelineOptions {
            home: Some(self.home()),
            ..PipelineOptions::default()
        }
    }

    /// Reads a pipeline without errors.
    pub(crate) fn read(&self, options: &PipelineOptions) -> LocalPipeline {
        let checked = self.find().read(options).unwrap();
        let (pipeline, _) = checked
            .into_result()
            .unwrap_or_else(|found| panic!("{found}"));
        pipeline
    }

    /// Reads the pipeline in a situation.
    pub(crate) fn situated(&self, situation: SituationOptions) -> LocalPipeline {
        self.read(&PipelineOptions {
            situation,
            ..self.options()
        })
    }

    /// Reads a pipeline with errors, and returns them.
    pub(crate) fn errors(&self, options: &PipelineOptions) -> String {
        let checked = self.find().read(options).unwrap();
        let found = checked.into_result().expect_err("there are errors");
        found.to_string()
    }

    pub(crate) fn find(&self) -> LocalProject {
        LocalProject::find(&self.dir(), None).unwrap()
    }
}

fn write(path: &Path, text: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
