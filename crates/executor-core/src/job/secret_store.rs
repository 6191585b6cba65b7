use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The secrets a job gets from stores elsewhere, by the names of their variables (`secrets`).
pub type Secrets = IndexMap<String, SecretDefinition>;

/// Where a secret of a job comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretDefinition {
    /// The store and the place there.
    #[serde(flatten)]
    pub store: SecretStore,
    /// Whether the variable holds the path of a file with the secret; absent means yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<bool>,
    /// The identity token that opens the store, as a variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// A store of secrets and a place there.
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
    /// Akeyless; its many settings by name.
    Akeyless(IndexMap<String, String>),
    /// GitLab's own.
    GitlabSecretsManager(GitlabSecret),
}

/// A place in `HashiCorp` Vault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultSecret {
    /// The secrets engine.
    pub engine: VaultEngine,
    /// The path there.
    pub path: String,
    /// The field there.
    pub field: String,
}

/// A secrets engine of `HashiCorp` Vault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VaultEngine {
    /// Its kind.
    pub name: String,
    /// Where it is mounted.
    pub path: String,
}

/// A place in Azure Key Vault.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AzureSecret {
    /// The secret's name.
    pub name: String,
    /// Its version; absent means the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A place in GCP Secret Manager.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GcpSecret {
    /// The secret's name.
    pub name: String,
    /// Its version; absent means the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A place in AWS Secrets Manager.
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
    /// The role that may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role_arn: Option<String>,
    /// The name under which the role is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role_session_name: Option<String>,
    /// The field of the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// A place in GitLab's own store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitlabSecret {
    /// The secret's name.
    pub name: String,
    /// Whose secret it is; absent means the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}
