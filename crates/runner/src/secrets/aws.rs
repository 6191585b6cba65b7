//! AWS Secrets Manager, with a role that trusts the ID token.

use super::client::{Client, Login};
use super::{CloudEndpoints, address, optional_text, refused, text};
use executor_core::job::SecretString;
use http::Request as HttpRequest;
use job_runner::SecretError;
use object_store::aws::{AwsAuthorizer, AwsCredential};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use web::{Body, Content, Credential, Method, Request, Url};

const REGION: &str = "/aws_secrets_manager/region";

/// The service whose requests are signed.
const SERVICE: &str = "secretsmanager";

/// The headers of a signed request, beside its signature.
const SIGNED: [&str; 4] = [
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-security-token",
    "x-amz-target",
];

/// The answer to `AssumeRoleWithWebIdentity`.
#[derive(Deserialize)]
struct Assumed {
    #[serde(rename = "AssumeRoleWithWebIdentityResult")]
    result: AssumedResult,
}

#[derive(Deserialize)]
struct AssumedResult {
    #[serde(rename = "Credentials")]
    credentials: Credentials,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Credentials {
    access_key_id: String,
    secret_access_key: String,
    session_token: String,
}

pub(super) async fn read(
    client: &Client,
    endpoints: &CloudEndpoints,
    definition: &Value,
) -> Result<Option<SecretString>, SecretError> {
    // The definition has precedence over the variables that GitLab has put into `server`.
    let setting = |name: &str| {
        let places = ["", "server/"].map(|it| format!("/aws_secrets_manager/{it}{name}"));
        places.iter().find_map(|at| optional_text(definition, at))
    };
    let missing = |name: &str| refused(format!("`aws_secrets_manager.{name}` is missing"));
    let secret = text(definition, "/aws_secrets_manager/secret_id")?;
    let region = setting("region").ok_or_else(|| missing("region"))?;
    if !region
        .bytes()
        .all(|it| it == b'-' || it.is_ascii_alphanumeric())
    {
        return Err(refused(format!("{region:?} is not a region of AWS")));
    }
    // The runner has no credentials of its own.
    let role = setting("role_arn").ok_or_else(|| missing("role_arn"))?;
    let jwt = text(definition, "/aws_secrets_manager/server/jwt")?;
    let session = setting("role_session_name").unwrap_or_else(|| "runwright".to_owned());
    let url = |base: &str| address(&of_region(base, &region), REGION, &[]);
    let credentials = client
        .log_in(Login {
            request: assume(url(&endpoints.aws_sts)?, &role, &session, &jwt),
            token_of: |answer| {
                let assumed: Assumed = quick_xml::de::from_reader(answer).ok()?;
                let found = assumed.result.credentials;
                // They become parts of headers.
                let texts = [&found.access_key_id, &found.session_token];
                let are_plain = texts
                    .iter()
                    .all(|it| it.bytes().all(|it| it.is_ascii_graphic()));
                are_plain.then(|| serde_json::to_string(&found).ok())?
            },
            jwt,
            key: format!("{role} {session}"),
        })
        .await?;
    let mut wanted = json!({ "SecretId": secret });
    for (key, name) in [
        ("VersionId", "version_id"),
        ("VersionStage", "version_stage"),
    ] {
        if let Some(value) = setting(name) {
            wanted[key] = value.into();
        }
    }
    let url = url(&endpoints.aws_secrets)?;
    let credentials: Credentials = serde_json::from_str(credentials.expose())
        .map_err(|_| refused("its credentials cannot be read"))?;
    let tokens = [
        credentials.session_token.clone(),
        credentials.secret_access_key.clone(),
        credentials.access_key_id.clone(),
    ];
    let request = signed(url, &region, &wanted.to_string(), credentials)?;
    let tokens = tokens.each_ref().map(String::as_str);
    let answer = client.read(&request, &tokens).await?;
    let Some(answer) = answer else {
        return Ok(None);
    };
    // A value that is not text comes as base64.
    let value = ["SecretString", "SecretBinary"];
    let Some(value) = value.iter().find_map(|it| answer[*it].as_str()) else {
        return Ok(None);
    };
    let Some(field) = setting("field") else {
        return Ok(Some(value.into()));
    };
    let fields: Value = serde_json::from_str(value)
        .map_err(|_| refused("its value is not JSON, so it has no fields"))?;
    match &fields[&field] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.into())),
        number @ (Value::Number(_) | Value::Bool(_)) => Ok(Some(number.to_string().into())),
        _ => Err(refused(format!(
            "its field {field:?} is neither a text, a number nor a Boolean"
        ))),
    }
}

/// Returns an address in a region; those in China have a domain of their own.
fn of_region(base: &str, region: &str) -> String {
    let base = base.replace("{region}", region);
    if region.starts_with("cn-") {
        base.replace("amazonaws.com", "amazonaws.com.cn")
    } else {
        base
    }
}

/// Returns the request for credentials of a role.
fn assume(url: Url, role: &str, session: &str, jwt: &str) -> Request {
    let mut form = url.clone();
    form.query_pairs_mut().extend_pairs([
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", role),
        ("RoleSessionName", session),
        ("WebIdentityToken", jwt),
    ]);
    let body = Body {
        content_type: "application/x-www-form-urlencoded".to_owned(),
        content: Content::Bytes(form.query().unwrap_or_default().into()),
    };
    Request {
        method: Method::Post(body),
        ..Request::get(url)
    }
}

/// Returns the request for a secret, with a signature (version 4).
fn signed(
    url: Url,
    region: &str,
    body: &str,
    credentials: Credentials,
) -> Result<Request, SecretError> {
    let unsigned = |_: &dyn std::fmt::Display| refused("its request cannot be signed");
    let credentials = AwsCredential {
        key_id: credentials.access_key_id,
        secret_key: credentials.secret_access_key,
        token: Some(credentials.session_token),
    };
    let mut request = HttpRequest::post(url.as_str())
        .header("x-amz-target", "secretsmanager.GetSecretValue")
        .body(body.to_owned().into())
        .map_err(|error| unsigned(&error))?;
    AwsAuthorizer::new(&credentials, SERVICE, region)
        .try_authorize(&mut request, None)
        .map_err(|error| unsigned(&error))?;
    let header = |name: &str| {
        let value = request.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let signed = SIGNED.into_iter();
    let body = Body {
        content_type: "application/x-amz-json-1.1".to_owned(),
        content: Content::Bytes(body.into()),
    };
    Ok(Request {
        method: Method::Post(body),
        credential: header("authorization").map(|value| Credential {
            header: "authorization",
            value: value.into(),
        }),
        headers: signed
            .filter_map(|name| Some((name, header(name)?)))
            .collect(),
        ..Request::get(url)
    })
}
