//! Azure Key Vault, with a login by federated credential.

use super::client::{Client, Login, get_with, text_at};
use super::{CloudEndpoints, address, optional_text, text};
use executor_core::job::SecretString;
use job_runner::SecretError;
use serde_json::Value;
use web::{Body, Content, Method, Request};

const URL: &str = "/azure_key_vault/server/url";

pub(super) async fn read(
    client: &Client,
    endpoints: &CloudEndpoints,
    definition: &Value,
) -> Result<Option<SecretString>, SecretError> {
    let name = text(definition, "/azure_key_vault/name")?;
    let version = optional_text(definition, "/azure_key_vault/version").unwrap_or_default();
    let tenant = text(definition, "/azure_key_vault/server/tenant_id")?;
    let application = text(definition, "/azure_key_vault/server/client_id")?;
    let jwt = text(definition, "/azure_key_vault/server/jwt")?;
    let vault = text(definition, URL)?;
    let mut url = address(&vault, URL, &["secrets", &name, &version])?;
    url.query_pairs_mut().append_pair("api-version", "7.4");
    let login_path = [&tenant, "oauth2/v2.0/token"];
    let login_url = address(&endpoints.microsoft_login, URL, &login_path)?;
    let mut form = login_url.clone();
    form.query_pairs_mut().extend_pairs([
        ("grant_type", "client_credentials"),
        ("client_id", &application),
        (
            "client_assertion_type",
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        ),
        ("client_assertion", &jwt),
        ("scope", "https://vault.azure.net/.default"),
    ]);
    let body = Body {
        content_type: "application/x-www-form-urlencoded".to_owned(),
        content: Content::Bytes(form.query().unwrap_or_default().into()),
    };
    let login = Request {
        method: Method::Post(body),
        ..Request::get(login_url)
    };
    let token = client
        .log_in(Login {
            request: login,
            token_of: |answer| text_at(answer, "/access_token"),
            jwt,
            key: application,
        })
        .await?;
    let request = get_with(url, "authorization", format!("Bearer {}", token.expose()));
    let answer = client.read(&request, &[token.expose()]).await?;
    let value = answer.as_ref().and_then(|it| it["value"].as_str());
    Ok(value.map(Into::into))
}
