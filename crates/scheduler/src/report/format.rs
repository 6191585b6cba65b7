use super::{PipelineReport, json, junit, text};
use std::path::Path;

/// The kinds of files that tell how a pipeline ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReportFormat {
    /// JUnit's XML, in which jobs are the test cases and stages the suites.
    Junit,
    /// JSON, with a version.
    Json,
    /// Text for people.
    Text,
}

impl ReportFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Junit, Self::Json, Self::Text];

    /// Returns the name: `junit`, `json`, `text`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Junit => "junit",
            Self::Json => "json",
            Self::Text => "text",
        }
    }

    /// Returns the ending of its files, without the dot.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Junit => "xml",
            Self::Json => "json",
            Self::Text => "txt",
        }
    }

    /// Returns the format of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns the format that a file's ending stands for.
    pub fn of_file(path: &Path) -> Option<Self> {
        let ending = path.extension()?;
        let mut all = Self::ALL.into_iter();
        all.find(|format| ending.eq_ignore_ascii_case(format.ending()))
    }

    /// Returns the content of such a file. What the log hides is in none of them.
    pub fn write(self, report: &PipelineReport) -> String {
        match self {
            Self::Junit => junit::write(report),
            Self::Json => json::write(report),
            Self::Text => text::write(report),
        }
    }
}
