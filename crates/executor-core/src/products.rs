//! The results of a job besides its exit code and log.

use crate::variable::JobVariable;
use serde::{Deserialize, Serialize};

/// The results of a job besides its exit code and log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobProducts {
    /// The retained artifacts, including reports.
    pub artifacts: Vec<RetainedArtifact>,
    /// The variables of its dotenv reports, for later jobs.
    pub dotenv: Vec<JobVariable>,
    /// The totals of its junit reports.
    pub tests: Option<TestTotals>,
    /// The coverage found in its log, in percent.
    pub coverage: Option<f64>,
    /// The tracked files it changed without declaring them; `None` when they were not checked.
    pub changed: Option<ChangedFiles>,
}

/// Tracked files that changed while a job ran and that it does not declare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFiles {
    /// The number of files.
    pub count: u64,
    /// The first files, relative to the project directory.
    pub first: Vec<String>,
    /// Whether this job certainly changed them: other jobs may have run in the same directory.
    #[serde(rename = "certain")]
    pub is_certain: bool,
}

/// A retained artifact.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetainedArtifact {
    /// `archive`, or the kind of a report (`junit`, `dotenv`, ...).
    pub artifact_type: String,
    /// The name of its archive, without an extension.
    pub name: String,
    /// The number of files.
    pub files: u64,
    /// The total size of the files in bytes.
    pub bytes: u64,
}

/// The totals of the tests in a job's junit reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TestTotals {
    /// The number of tests.
    pub total: u64,
    /// The number of failed tests.
    pub failed: u64,
    /// The number of tests with an error outside an assertion.
    pub errors: u64,
    /// The number of skipped tests.
    pub skipped: u64,
    /// The total duration in seconds.
    pub seconds: f64,
    /// The failed tests, possibly only the first ones.
    pub failures: Vec<FailedTest>,
}

/// A failed test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTest {
    /// The suite it belongs to.
    pub suite: String,
    /// Its class; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// Its name.
    pub name: String,
    /// Its file, if the report names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The failure message.
    pub message: String,
}

impl RetainedArtifact {
    /// Returns whether it is the archive of files rather than a report.
    pub fn is_archive(&self) -> bool {
        self.artifact_type == "archive"
    }
}

impl FailedTest {
    /// Returns the name for display: the suite or class, and the test's name.
    pub fn shown_name(&self) -> String {
        let Self {
            suite, class, name, ..
        } = self;
        let owner = if class.is_empty() { suite } else { class };
        // Some tools repeat the suite or class in the name.
        if owner.is_empty() || name.contains(owner.as_str()) {
            name.clone()
        } else if name.is_empty() {
            owner.clone()
        } else {
            format!("{owner} > {name}")
        }
    }
}
