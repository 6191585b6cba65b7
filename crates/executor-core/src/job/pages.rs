use serde::{Deserialize, Serialize};

/// Whether and how a job publishes pages (`pages`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PagesDefinition {
    /// Whether the job publishes pages.
    Flag(bool),
    /// The job publishes pages with these settings.
    Settings(PagesSettings),
}

impl PagesDefinition {
    /// Returns whether the job publishes pages.
    pub fn is_enabled(&self) -> bool {
        !matches!(self, Self::Flag(false))
    }

    /// Returns the directory to publish, if the keyword names one.
    pub fn publish(&self) -> Option<&str> {
        match self {
            Self::Flag(_) => None,
            Self::Settings(settings) => settings.publish.as_deref(),
        }
    }
}

/// How a job publishes pages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PagesSettings {
    /// The directory to publish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<String>,
    /// The prefix of the pages' path; may contain variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_prefix: Option<String>,
    /// The lifetime: a GitLab duration, `never` or a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_in: Option<String>,
}
