use serde::{Deserialize, Serialize};

/// A job of the same pipeline that must run first (`needs`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Need {
    /// The needed job's expanded name.
    pub job: String,
    /// Whether its artifacts are downloaded.
    #[serde(default = "yes")]
    pub artifacts: bool,
    /// Whether the job may be absent from the pipeline.
    #[serde(default)]
    pub optional: bool,
}

impl Need {
    /// Returns a need of `job` with its artifacts.
    pub fn of(job: impl Into<String>) -> Self {
        Self {
            job: job.into(),
            artifacts: true,
            optional: false,
        }
    }
}

/// A need in another pipeline (`needs:project`, `needs:pipeline`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct CrossNeed {
    /// The other project's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The ref in the other project.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub ref_name: Option<String>,
    /// The other pipeline's id or a variable that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<String>,
    /// The job in that pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Whether its artifacts are downloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<bool>,
}

fn yes() -> bool {
    true
}
