//! Google Secret Manager, with a login by workload identity federation.

use super::client::{Client, Login, get_with, post_json, text_at};
use super::{CloudEndpoints, address, optional_text, refused, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use executor_core::job::SecretString;
use job_runner::SecretError;
use serde_json::{Value, json};

const NAME: &str = "/gcp_secret_manager/name";

pub(super) async fn read(
    client: &Client,
    endpoints: &CloudEndpoints,
    definition: &Value,
) -> Result<Option<SecretString>, SecretError> {
    let server = |name: &str| text(definition, &format!("/gcp_secret_manager/server/{name}"));
    let project = server("project_number")?;
    let pool = server("workload_identity_federation_pool_id")?;
    let provider = server("workload_identity_federation_provider_id")?;
    let jwt = server("jwt")?;
    let name = text(definition, NAME)?;
    let version = optional_text(definition, "/gcp_secret_manager/version");
    let version = version.unwrap_or_else(|| "latest".to_owned());
    // A full name is that of a secret in any project.
    let secret = if name.starts_with("projects/") {
        name
    } else {
        format!("projects/{project}/secrets/{name}")
    };
    let path = format!("v1/{secret}/versions/{version}:access");
    let audience = format!(
        "//iam.googleapis.com/projects/{project}/locations/global/workloadIdentityPools/{pool}/providers/{provider}"
    );
    let exchange = json!({
        "grantType": "urn:ietf:params:oauth:grant-type:token-exchange",
        "audience": audience,
        "scope": "https://www.googleapis.com/auth/cloud-platform",
        "requestedTokenType": "urn:ietf:params:oauth:token-type:access_token",
        "subjectTokenType": "urn:ietf:params:oauth:token-type:jwt",
        "subjectToken": jwt,
    });
    let login = post_json(
        address(&endpoints.google_sts, NAME, &["v1/token"])?,
        &exchange,
    );
    let token = client
        .log_in(Login {
            request: login,
            token_of: |answer| text_at(answer, "/access_token"),
            jwt,
            key: audience,
        })
        .await?;
    let url = address(&endpoints.google_secrets, NAME, &[&path])?;
    let request = get_with(url, "authorization", format!("Bearer {}", token.expose()));
    let Some(answer) = client.read(&request, &[token.expose()]).await? else {
        return Ok(None);
    };
    let Some(data) = answer.pointer("/payload/data").and_then(Value::as_str) else {
        return Ok(None);
    };
    let bytes = STANDARD.decode(data).ok();
    let value = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let value = value.ok_or_else(|| refused("its value is not text"))?;
    Ok(Some(value.into()))
}
