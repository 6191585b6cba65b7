use serde::{Deserialize, Serialize};

/// The environment a job deploys to (`environment`), in the normalized shape.
///
/// # Examples
///
/// ```
/// use executor_core::job::EnvironmentDefinition;
///
/// let environment = EnvironmentDefinition::named("production");
/// assert_eq!(serde_json::to_value(environment)?, serde_json::json!({
///     "name": "production", "action": "start",
/// }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentDefinition {
    /// Its name; may hold variables.
    pub name: String,
    /// The address under which it is reached; may hold variables, also those of a dotenv report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What the job does with it; absent means [`EnvironmentAction::Start`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<EnvironmentAction>,
    /// The job that stops it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_stop: Option<String>,
    /// How long it lives, in GitLab's duration words; may hold variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_stop_in: Option<String>,
    /// What it is for; absent means that its name tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_tier: Option<DeploymentTier>,
    /// The cluster that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Box<EnvironmentCluster>>,
}

impl EnvironmentDefinition {
    /// Returns what `environment: name` stands for.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            action: Some(EnvironmentAction::Start),
            ..Self::default()
        }
    }
}

/// What a job does with its environment (`environment:action`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentAction {
    /// It deploys to it.
    #[default]
    Start,
    /// It takes it down.
    Stop,
    /// It prepares it, which is no deployment.
    Prepare,
    /// It looks whether all is well there.
    Verify,
    /// It uses it.
    Access,
}

impl EnvironmentAction {
    /// Returns the word that stands for it in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Prepare => "prepare",
            Self::Verify => "verify",
            Self::Access => "access",
        }
    }
}

/// What an environment is for (`environment:deployment_tier`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeploymentTier {
    /// For the public.
    Production,
    /// For a last look.
    Staging,
    /// For tests.
    Testing,
    /// For those who write it.
    Development,
    /// For something else.
    Other,
}

impl DeploymentTier {
    /// Returns the word that stands for it in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Production => "production",
            Self::Staging => "staging",
            Self::Testing => "testing",
            Self::Development => "development",
            Self::Other => "other",
        }
    }
}

/// The cluster an environment is in (`environment:kubernetes`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentCluster {
    /// The agent that reaches it, `path/to/project:agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The namespace there, in its old place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The Flux resource, in its old place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flux_resource_path: Option<String>,
    /// Whether GitLab makes resources there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_resources: Option<ManagedResources>,
    /// What GitLab shows of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dashboard: Option<ClusterDashboard>,
}

/// Whether GitLab makes resources in a cluster (`environment:kubernetes:managed_resources`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ManagedResources {
    /// Whether it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// What GitLab shows of a cluster (`environment:kubernetes:dashboard`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterDashboard {
    /// The namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The Flux resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flux_resource_path: Option<String>,
}
