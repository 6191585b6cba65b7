//! HashiCorp Vault, with a login by ID token.

use super::client::{Client, Login, get_with, post_json};
use super::{address, key, optional_text, refused, text};
use executor_core::job::SecretString;
use job_runner::SecretError;
use serde_json::Value;

const URL: &str = "/vault/server/url";

pub(super) async fn read(
    client: &Client,
    definition: &Value,
) -> Result<Option<SecretString>, SecretError> {
    let url = text(definition, URL)?;
    let field = text(definition, "/vault/field")?;
    let path = text(definition, "/vault/path")?;
    let mount = text(definition, "/vault/engine/path")?;
    let kind = text(definition, "/vault/engine/name")?;
    let (path, data_at) = match kind.as_str() {
        "kv-v2" => (vec!["v1", &mount, "data", &path], "/data/data"),
        "kv-v1" | "generic" => (vec!["v1", &mount, &path], "/data"),
        other => {
            return Err(refused(format!(
                "{} is {other:?}: expected kv-v1, kv-v2 or generic",
                key("/vault/engine/name")
            )));
        }
    };
    // Before the login, which would be in vain.
    let url_of_secret = address(&url, URL, &path)?;
    let namespace = optional_text(definition, "/vault/server/namespace");
    let auth = optional_text(definition, "/vault/server/auth/path");
    let auth = auth.unwrap_or_else(|| "jwt".to_owned());
    let jwt = text(definition, "/vault/server/auth/data/jwt")?;
    let data = &definition["vault"]["server"]["auth"]["data"];
    let login_url = address(&url, URL, &["v1/auth", &auth, "login"])?;
    let headers: Vec<_> = namespace
        .iter()
        .map(|name| ("x-vault-namespace", name.clone()))
        .collect();
    let mut login = post_json(login_url, data);
    login.headers.clone_from(&headers);
    let token = client
        .log_in(Login {
            request: login,
            token_at: "/auth/client_token",
            jwt,
            key: format!("{namespace:?} {}", data["role"]),
        })
        .await?;
    let mut request = get_with(url_of_secret, "x-vault-token", token.expose().to_owned());
    request.headers = headers;
    let answer = client.read(&request, &token).await?;
    let fields = answer.as_ref().and_then(|it| it.pointer(data_at));
    Ok(match fields.and_then(|it| it.get(&field)) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.into()),
        Some(other) => Some(other.to_string().into()),
    })
}
