//! What a job left behind, as far as others want to know of it.

use crate::variable::JobVariable;
use serde::{Deserialize, Serialize};

/// What a job left besides its exit code and its log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobProducts {
    /// The artifacts that are kept, reports among them.
    pub artifacts: Vec<RetainedArtifact>,
    /// The variables of its dotenv reports, for later jobs.
    pub dotenv: Vec<JobVariable>,
    /// What its junit reports tell.
    pub tests: Option<TestTotals>,
    /// The figure that `coverage` found in its log, in percent.
    pub coverage: Option<f64>,
    /// The files tracked by version control that it changed without saying so, where somebody looked.
    pub changed: Option<ChangedFiles>,
}

/// Tracked files that changed while a job ran, and that it did not declare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFiles {
    /// How many there are.
    pub count: u64,
    /// The first of them, relative to the top of the project.
    pub first: Vec<String>,
    /// Whether it was this job that changed them: other jobs may have run in the same directory.
    #[serde(rename = "certain")]
    pub is_certain: bool,
}

/// An artifact that is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetainedArtifact {
    /// `archive`, or the kind of a report (`junit`, `dotenv`, ...).
    pub artifact_type: String,
    /// The name its archive would have, without an ending.
    pub name: String,
    /// How many files it has.
    pub files: u64,
    /// How many bytes they have together.
    pub bytes: u64,
}

/// The tests that a job's junit reports tell of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TestTotals {
    /// How many there are in all.
    pub total: u64,
    /// How many failed.
    pub failed: u64,
    /// How many broke down before they could fail.
    pub errors: u64,
    /// How many were not run.
    pub skipped: u64,
    /// How long they took together, in seconds.
    pub seconds: f64,
    /// Those that failed or broke down, the first of them if there are very many.
    pub failures: Vec<FailedTest>,
}

/// A test that failed or broke down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTest {
    /// The suite it belongs to.
    pub suite: String,
    /// Its class, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// Its name.
    pub name: String,
    /// The file it is in, where the report says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What it complained of.
    pub message: String,
}

impl RetainedArtifact {
    /// Returns whether it is the archive of files, not a report.
    pub fn is_archive(&self) -> bool {
        self.artifact_type == "archive"
    }
}

impl FailedTest {
    /// Returns what people know it by: its suite or class, and its name.
    pub fn shown_name(&self) -> String {
        let Self {
            suite, class, name, ..
        } = self;
        let owner = if class.is_empty() { suite } else { class };
        // Some tools repeat the one in the other.
        if owner.is_empty() || name.contains(owner.as_str()) {
            name.clone()
        } else if name.is_empty() {
            owner.clone()
        } else {
            format!("{owner} > {name}")
        }
    }
}
