//! Makes the client of a bucket from its settings.

use super::transport::Transport;
use crate::config::{AzureContainer, CacheBucket, GcsAccount, GcsBucket, S3Bucket, S3Encryption};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// How often a request is repeated when the server is overloaded, broken or silent.
const RETRIES: usize = 2;

/// The variables by which a machine, a container or a pod has credentials for S3.
const S3_VARIABLES: [(&str, AmazonS3ConfigKey); 8] = [
    ("AWS_ACCESS_KEY_ID", AmazonS3ConfigKey::AccessKeyId),
    ("AWS_SECRET_ACCESS_KEY", AmazonS3ConfigKey::SecretAccessKey),
    ("AWS_SESSION_TOKEN", AmazonS3ConfigKey::Token),
    (
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        AmazonS3ConfigKey::WebIdentityTokenFile,
    ),
    ("AWS_ROLE_ARN", AmazonS3ConfigKey::RoleArn),
    (
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        AmazonS3ConfigKey::ContainerCredentialsRelativeUri,
    ),
    (
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        AmazonS3ConfigKey::ContainerCredentialsFullUri,
    ),
    (
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        AmazonS3ConfigKey::ContainerAuthorizationTokenFile,
    ),
];

/// The variables by which a pod has an identity of Azure.
const AZURE_VARIABLES: [(&str, AzureConfigKey); 4] = [
    ("AZURE_CLIENT_ID", AzureConfigKey::ClientId),
    ("AZURE_TENANT_ID", AzureConfigKey::AuthorityId),
    (
        "AZURE_FEDERATED_TOKEN_FILE",
        AzureConfigKey::FederatedTokenFile,
    ),
    ("AZURE_CLIENT_SECRET", AzureConfigKey::ClientSecret),
];

/// Looks up a variable of the environment.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns the client of a bucket. Nothing is requested yet.
pub(super) fn client(
    bucket: &CacheBucket,
    transport: Transport,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let variables: Variables<'_> = &|name| std::env::var(name).ok();
    Ok(match bucket {
        CacheBucket::S3(bucket) => {
            let builder = s3(bucket, variables).with_http_connector(transport);
            Arc::new(builder.build()?)
        }
        CacheBucket::Gcs(bucket) => {
            let builder = gcs(bucket).with_http_connector(transport);
            Arc::new(builder.build()?)
        }
        CacheBucket::Azure(container) => {
            let builder = azure(container, variables).with_http_connector(transport);
            Arc::new(builder.build()?)
        }
    })
}

fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(250),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: RETRIES,
        retry_timeout: Duration::from_mins(3),
    }
}

fn s3(bucket: &S3Bucket, variables: Variables<'_>) -> AmazonS3Builder {
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&bucket.name)
        .with_region(&bucket.region)
        .with_endpoint(s3_endpoint(bucket))
        .with_virtual_hosted_style_request(!bucket.path_style)
        .with_retry(retries());
    match &bucket.keys {
        Some(keys) => {
            builder = builder
                .with_access_key_id(keys.access_key.expose())
                .with_secret_access_key(keys.secret_key.expose());
            if !keys.session_token.is_empty() {
                builder = builder.with_token(keys.session_token.expose());
            }
        }
        None => {
            for (name, key) in S3_VARIABLES {
                if let Some(value) = variables(name).filter(|it| !it.is_empty()) {
                    builder = builder.with_config(key, value);
                }
            }
        }
    }
    match &bucket.encryption {
        None => builder,
        Some(S3Encryption::S3) => encrypted(builder, "AES256", None),
        Some(S3Encryption::Kms(id)) => encrypted(builder, "aws:kms", id.as_deref()),
        Some(S3Encryption::DsseKms(id)) => encrypted(builder, "aws:kms:dsse", id.as_deref()),
    }
}

fn encrypted(builder: AmazonS3Builder, kind: &str, id: Option<&str>) -> AmazonS3Builder {
    // The type of these keys has no public name.
    let key = |name: &str| -> AmazonS3ConfigKey { name.parse().expect("a known name") };
    let builder = builder.with_config(key("aws_server_side_encryption"), kind);
    match id {
        Some(id) => builder.with_config(key("aws_sse_kms_key_id"), id),
        None => builder,
    }
}

/// Returns the address of the server; with the bucket in its host, unless the bucket is in the path.
fn s3_endpoint(bucket: &S3Bucket) -> String {
    let scheme = if bucket.insecure { "http" } else { "https" };
    let host = bucket.server.clone().unwrap_or_else(|| {
        let region = &bucket.region;
        let country = if region.starts_with("cn-") { ".cn" } else { "" };
        match (bucket.accelerate, bucket.dual_stack) {
            (true, true) => "s3-accelerate.dualstack.amazonaws.com".to_owned(),
            (true, false) => "s3-accelerate.amazonaws.com".to_owned(),
            (false, true) => format!("s3.dualstack.{region}.amazonaws.com{country}"),
            (false, false) => format!("s3.{region}.amazonaws.com{country}"),
        }
    });
    if bucket.path_style {
        format!("{scheme}://{host}")
    } else {
        format!("{scheme}://{}.{host}", bucket.name)
    }
}

fn gcs(bucket: &GcsBucket) -> GoogleCloudStorageBuilder {
    let builder = GoogleCloudStorageBuilder::new()
        .with_bucket_name(&bucket.name)
        .with_retry(retries());
    match &bucket.account {
        GcsAccount::Default => builder,
        GcsAccount::File(path) => builder.with_application_credentials(path.display().to_string()),
        GcsAccount::Service {
            access_id,
            private_key,
        } => {
            let account = json!({
                "type": "service_account",
                "client_email": access_id,
                "private_key": private_key.expose(),
                // config.toml does not have it.
                "private_key_id": "",
            });
            builder.with_service_account_key(account.to_string())
        }
    }
}

fn azure(container: &AzureContainer, variables: Variables<'_>) -> MicrosoftAzureBuilder {
    let mut builder = MicrosoftAzureBuilder::new()
        .with_account(&container.account)
        .with_container_name(&container.name)
        .with_endpoint(format!(
            "https://{}.{}",
            container.account, container.domain
        ))
        .with_retry(retries());
    if let Some(key) = &container.key {
        return builder.with_access_key(key.expose());
    }
    for (name, key) in AZURE_VARIABLES {
        if let Some(value) = variables(name).filter(|it| !it.is_empty()) {
            builder = builder.with_config(key, value);
        }
    }
    builder
}

#[cfg(test)]
mod tests;
