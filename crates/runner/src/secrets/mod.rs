//! The secrets of a job's `secrets:`, read from Vault and from the secret stores of clouds.
//!
//! Each store trusts the job's ID token, so the runner has no credentials for it.

mod aws;
mod azure;
mod client;
mod gcp;
mod gitlab;
mod vault;

use async_trait::async_trait;
use client::Client;
use executor_core::Cancellation;
use executor_core::job::SecretString;
use job_runner::{SecretError, SecretStore};
use serde_json::Value;
use web::{Url, Web};

/// All keywords of GitLab that name a store.
const KEYWORDS: [&str; 6] = [
    "vault",
    "gcp_secret_manager",
    "azure_key_vault",
    "aws_secrets_manager",
    "gitlab_secrets_manager",
    "akeyless",
];

/// The secret stores that GitLab names, for the secrets of one job.
///
/// It logs in once at a server for all secrets that come from there with the same ID token.
#[derive(Debug)]
pub struct SecretStores {
    client: Client,
    endpoints: CloudEndpoints,
}

/// The addresses of clouds. The default is their public addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudEndpoints {
    /// Google's exchange of tokens.
    pub google_sts: String,
    /// Google Secret Manager.
    pub google_secrets: String,
    /// Microsoft's identity platform.
    pub microsoft_login: String,
    /// The Security Token Service of AWS; `{region}` stands for a region.
    pub aws_sts: String,
    /// AWS Secrets Manager, likewise.
    pub aws_secrets: String,
}

impl Default for CloudEndpoints {
    fn default() -> Self {
        Self {
            google_sts: "https://sts.googleapis.com".to_owned(),
            google_secrets: "https://secretmanager.googleapis.com".to_owned(),
            microsoft_login: "https://login.microsoftonline.com".to_owned(),
            aws_sts: "https://sts.{region}.amazonaws.com".to_owned(),
            aws_secrets: "https://secretsmanager.{region}.amazonaws.com".to_owned(),
        }
    }
}

impl SecretStores {
    /// Returns the stores of one job, which are reached by the rules of `web`.
    pub fn new(web: &Web, endpoints: CloudEndpoints) -> Self {
        Self {
            client: Client::new(web),
            endpoints,
        }
    }

    async fn read(&self, definition: &Value) -> Result<Option<SecretString>, SecretError> {
        let mut keywords = KEYWORDS.into_iter();
        match keywords.find(|it| definition[*it].is_object()) {
            Some("vault") => vault::read(&self.client, definition).await,
            Some("gcp_secret_manager") => {
                gcp::read(&self.client, &self.endpoints, definition).await
            }
            Some("azure_key_vault") => azure::read(&self.client, &self.endpoints, definition).await,
            Some("aws_secrets_manager") => {
                aws::read(&self.client, &self.endpoints, definition).await
            }
            Some("gitlab_secrets_manager") => gitlab::read(&self.client, definition).await,
            Some(other) => Err(refused(format!("`{other}` is not supported"))),
            None => Err(refused("its store is not supported")),
        }
    }
}

#[async_trait]
impl SecretStore for SecretStores {
    async fn resolve(
        &self,
        definition: &Value,
        cancellation: &Cancellation,
    ) -> Result<Option<SecretString>, SecretError> {
        tokio::select! {
            read = self.read(definition) => read,
            _ = cancellation.canceled() => Err(SecretError::Stopped),
        }
    }
}

fn refused(why: impl Into<String>) -> SecretError {
    SecretError::Refused(why.into())
}

/// Returns a text of a definition, which must not be empty: an unknown variable leaves an empty one.
fn text(definition: &Value, pointer: &str) -> Result<String, SecretError> {
    let found = optional_text(definition, pointer);
    found.ok_or_else(|| refused(format!("{} is missing", key(pointer))))
}

/// Returns a text or a number of a definition; `None` if it is empty.
fn optional_text(definition: &Value, pointer: &str) -> Option<String> {
    match definition.pointer(pointer)? {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the key that a JSON pointer names: `` `vault.server.url` ``.
fn key(pointer: &str) -> String {
    format!("`{}`", pointer.trim_start_matches('/').replace('/', "."))
}

/// Returns an address below `base`; each text may be several segments of the path. `at` is where `base` stands.
fn address(base: &str, at: &str, path: &[&str]) -> Result<Url, SecretError> {
    let invalid = || refused(format!("{} is not an address", key(at)));
    let mut url = Url::parse(base).map_err(|_| invalid())?;
    let segments = path.iter().flat_map(|text| text.split('/'));
    let mut end = url.path_segments_mut().map_err(|()| invalid())?;
    end.pop_if_empty()
        .extend(segments.filter(|segment| !segment.is_empty()));
    drop(end);
    Ok(url)
}
