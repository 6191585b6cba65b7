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
    /// The name; may contain variables.
    pub name: String,
    /// The URL; may contain variables, including those of a dotenv report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The job's action; absent means [`EnvironmentAction::Start`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<EnvironmentAction>,
    /// The job that stops the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_stop: Option<String>,
    /// The lifetime, as a GitLab duration; may contain variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_stop_in: Option<String>,
    /// The tier; absent means that it follows from the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_tier: Option<DeploymentTier>,
    /// The cluster of the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Box<EnvironmentCluster>>,
}

impl EnvironmentDefinition {
    /// Returns the definition that `environment: name` is short for.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            action: Some(EnvironmentAction::Start),
            ..Self::default()
        }
    }
}

/// The action of a job on its environment (`environment:action`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentAction {
    /// Deploys to it.
    #[default]
    Start,
    /// Stops it.
    Stop,
    /// Prepares it without a deployment.
    Prepare,
    /// Verifies it.
    Verify,
    /// Accesses it.
    Access,
}

impl EnvironmentAction {
    /// Returns the keyword in a pipeline file.
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

/// The tier of an environment (`environment:deployment_tier`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeploymentTier {
    /// The public deployment.
    Production,
    /// The final test before production.
    Staging,
    /// Automated tests.
    Testing,
    /// Development.
    Development,
    /// Any other purpose.
    Other,
}

impl DeploymentTier {
    /// Returns the keyword in a pipeline file.
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

/// The cluster of an environment (`environment:kubernetes`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentCluster {
    /// The agent, `path/to/project:agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The namespace, under its deprecated key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The Flux resource, under its deprecated key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flux_resource_path: Option<String>,
    /// Whether GitLab creates resources in the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_resources: Option<ManagedResources>,
    /// The cluster's dashboard in GitLab.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dashboard: Option<ClusterDashboard>,
}

/// Whether GitLab creates resources in a cluster (`environment:kubernetes:managed_resources`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ManagedResources {
    /// Whether managed resources are enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// The dashboard of a cluster in GitLab (`environment:kubernetes:dashboard`).
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
