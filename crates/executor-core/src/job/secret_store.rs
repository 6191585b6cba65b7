use super::OneOrMany;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The secrets of a job from external stores, by the names of their variables (`secrets`).
pub type Secrets = IndexMap<String, SecretDefinition>;

/// The definition of a job's secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretDefinition {
    /// The store and the location in it.
    #[serde(flatten)]
    pub store: SecretStore,
    /// Whether the variable holds the path of a file with the secret; absent means yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<bool>,
    /// The identity token for the store, as a variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// A secret store and a location in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretStore {
    /// `HashiCorp` Vault.
    Vault(VaultSecret),
    /// Azure Key Vault.
    AzureKeyVault(AzureSecret),
    /// GCP Secret Manager.
    GcpSecretManager(GcpSecret),
    /// AWS Secrets Manager.
    AwsSecretsManager(AwsSecret),
    /// Akeyless; its settings by name.
    Akeyless(IndexMap<String, String>),
    /// GitLab's own secret store.
    GitlabSecretsManager(GitlabSecret),
}

/// A location in `HashiCorp` Vault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultSecret {
    /// The secrets engine.
    pub engine: VaultEngine,
    /// The path in the engine.
    pub path: String,
    /// The field of the secret.
    pub field: String,
}

/// A secrets engine of `HashiCorp` Vault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultEngine {
    /// The engine's kind.
    pub name: String,
    /// The engine's mount point.
    pub path: String,
}

/// A location in Azure Key Vault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AzureSecret {
    /// The secret's name.
    pub name: String,
    /// Its version; absent means the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A location in GCP Secret Manager.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GcpSecret {
    /// The secret's name.
    pub name: String,
    /// Its version; absent means the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A location in AWS Secrets Manager.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AwsSecret {
    /// The secret's id.
    pub secret_id: String,
    /// Its version by id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_id: Option<String>,
    /// Its version by stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_stage: Option<String>,
    /// The region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The role with access to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role_arn: Option<String>,
    /// The session name for the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role_session_name: Option<String>,
    /// The field of the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// A location in GitLab's own store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitlabSecret {
    /// The secret's name.
    pub name: String,
    /// The owner of the secret; absent means the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The identity tokens of a job, by the names of their variables (`id_tokens`).
pub type IdTokens = IndexMap<String, IdTokenDefinition>;

/// An identity token: a signed statement about the job for another service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdTokenDefinition {
    /// The audience; may contain variables.
    pub aud: OneOrMany,
}
