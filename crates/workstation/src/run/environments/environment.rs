use executor_core::job::DeploymentTier;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A deployment environment of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Its name, with variables expanded.
    pub name: String,
    /// Its short name for URLs.
    pub slug: String,
    /// Its URL, if a job sets one; masked values in it are masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its tier, such as production.
    pub tier: DeploymentTier,
    /// Whether it is available.
    pub state: EnvironmentState,
    /// The last deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    /// The job that stops it, in the pipeline that deployed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_stop: Option<String>,
    /// When it should stop by itself, if it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_stop_at: Option<Timestamp>,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// Whether an environment is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentState {
    /// It is deployed.
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
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Stopped => "stopped",
        }
    }
}

impl Environment {
    /// Returns whether it is available.
    pub fn is_available(&self) -> bool {
        self.state == EnvironmentState::Available
    }

    /// Returns whether it should have stopped by `now`.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.is_available() && self.auto_stop_at.is_some_and(|at| at <= now)
    }
}
