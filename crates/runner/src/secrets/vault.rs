//! HashiCorp Vault, with a login by ID token.

use super::client::{Client, Login, get_with, post_json, text_at};
use super::{address, key, optional_text, refused, text};
use executor_core::job::SecretString;
use job_runner::SecretError;
use serde_json::Value;
use web::Url;

/// The field of a secret in an engine of Vault.
pub(super) struct Field {
    pub(super) url: Url,
    /// Where the fields are in the answer, as a JSON pointer.
    data_at: &'static str,
    name: String,
}

impl Field {
    /// Reads the definition of a secret below a keyword.
    pub(super) fn of(definition: &Value, keyword: &str) -> Result<Self, SecretError> {
        let pointer = |name: &str| format!("/{keyword}/{name}");
        let [server, kind] = ["server/url", "engine/name"].map(pointer);
        let url = text(definition, &server)?;
        let name = text(definition, &pointer("field"))?;
        let path = text(definition, &pointer("path"))?;
        let mount = text(definition, &pointer("engine/path"))?;
        let (path, data_at) = match text(definition, &kind)?.as_str() {
            "kv-v2" => (vec!["v1", &mount, "data", &path], "/data/data"),
            "kv-v1" | "generic" => (vec!["v1", &mount, &path], "/data"),
            other => {
                return Err(refused(format!(
                    "{} is {other:?}: expected kv-v1, kv-v2 or generic",
                    key(&kind)
                )));
            }
        };
        Ok(Self {
            url: address(&url, &server, &path)?,
            data_at,
            name,
        })
    }

    /// Returns the value that an answer has.
    pub(super) fn value(&self, answer: Option<&Value>) -> Option<SecretString> {
        match answer?.pointer(self.data_at)?.get(&self.name)? {
            Value::Null => None,
            Value::String(text) => Some(text.into()),
            other => Some(other.to_string().into()),
        }
    }
}

pub(super) async fn read(
    client: &Client,
    definition: &Value,
) -> Result<Option<SecretString>, SecretError> {
    // Before the login, which would be in vain.
    let field = Field::of(definition, "vault")?;
    let namespace = optional_text(definition, "/vault/server/namespace");
    let auth = optional_text(definition, "/vault/server/auth/path");
    let auth = auth.unwrap_or_else(|| "jwt".to_owned());
    let jwt = text(definition, "/vault/server/auth/data/jwt")?;
    let data = &definition["vault"]["server"]["auth"]["data"];
    let server = "/vault/server/url";
    let url = text(definition, server)?;
    let login_url = address(&url, server, &["v1/auth", &auth, "login"])?;
    let headers: Vec<_> = namespace
        .iter()
        .map(|name| ("x-vault-namespace", name.clone()))
        .collect();
    let mut login = post_json(login_url, data);
    login.headers.clone_from(&headers);
    let token = client
        .log_in(Login {
            request: login,
            token_of: |answer| text_at(answer, "/auth/client_token"),
            jwt,
            key: format!("{namespace:?} {}", data["role"]),
        })
        .await?;
    let mut request = get_with(
        field.url.clone(),
        "x-vault-token",
        token.expose().to_owned(),
    );
    request.headers = headers;
    let answer = client.read(&request, &[token.expose()]).await?;
    Ok(field.value(answer.as_ref()))
}
