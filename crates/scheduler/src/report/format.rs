use super::{PipelineReport, json, junit, text};
use std::path::Path;

/// The formats of report files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReportFormat {
    /// JUnit's XML: a job is a test case, a stage a suite.
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

    /// Returns the extension of its files, without the dot.
    pub const fn extension(self) -> &'static str {
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

    /// Returns the format for the extension of a file.
    pub fn of_file(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        let mut all = Self::ALL.into_iter();
        all.find(|format| extension.eq_ignore_ascii_case(format.extension()))
    }

    /// Returns the content of a report file. Masked values are in no format.
    pub fn write(self, report: &PipelineReport) -> String {
        match self {
            Self::Junit => junit::write(report),
            Self::Json => json::write(report),
            Self::Text => text::write(report),
        }
    }
}
