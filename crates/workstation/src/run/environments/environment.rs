use executor_core::job::DeploymentTier;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// An environment of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Its name, with all variables replaced.
    pub name: String,
    /// Its short name for addresses.
    pub slug: String,
    /// Where it is reached, if a job said so; masked values in it are masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What it is for.
    pub tier: DeploymentTier,
    /// Whether it is there.
    pub state: EnvironmentState,
    /// Who deployed it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    /// The job that stops it, in the pipeline that deployed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_stop: Option<String>,
    /// When it should be stopped, if it should by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_stop_at: Option<Timestamp>,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// Whether an environment is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentState {
    /// It is.
    Available,
    /// It was stopped.
    Stopped,
}

/// The job that deployed to an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// The number of its pipeline.
    pub pipeline: u64,
    /// Its name.
    pub job: String,
    /// When it ended.
    pub at: Timestamp,
}

impl EnvironmentState {
    /// Returns its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Stopped => "stopped",
        }
    }
}

impl Environment {
    /// Returns whether it is there.
    pub fn is_available(&self) -> bool {
        self.state == EnvironmentState::Available
    }

    /// Returns whether its time is up at `now`.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.is_available() && self.auto_stop_at.is_some_and(|at| at <= now)
    }
}
