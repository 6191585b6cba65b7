//! GitLab Secrets Manager, an OpenBao beside the GitLab. Each request has the login with it.

use super::client::Client;
use super::vault::Field;
use super::{optional_text, text};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use executor_core::job::SecretString;
use job_runner::SecretError;
use serde_json::{Value, json};
use web::Request;

pub(super) async fn read(
    client: &Client,
    definition: &Value,
) -> Result<Option<SecretString>, SecretError> {
    let field = Field::of(definition, "gitlab_secrets_manager")?;
    let auth = |name: &str| format!("/gitlab_secrets_manager/server/inline_auth/{name}");
    let path = match optional_text(definition, &auth("path")) {
        Some(path) => path,
        // Older servers send the mount alone.
        None => format!("auth/{}/login", text(definition, &auth("auth_mount"))?),
    };
    let jwt = text(definition, &auth("jwt"))?;
    let role = text(definition, &auth("role"))?;
    let parameter = |name: &str, value: &str| {
        URL_SAFE_NO_PAD.encode(json!({ "key": name, "value": value }).to_string())
    };
    let request = Request {
        headers: vec![
            ("x-vault-inline-auth-path", path),
            (
                "x-vault-inline-auth-parameter-role",
                parameter("role", &role),
            ),
            ("x-vault-inline-auth-parameter-jwt", parameter("jwt", &jwt)),
        ],
        ..Request::get(field.url.clone())
    };
    let answer = client.read(&request, &[&jwt]).await?;
    Ok(field.value(answer.as_ref()))
}
