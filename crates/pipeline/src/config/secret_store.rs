//! The stores of `secrets`, and how each addresses a secret.

use super::reader::{Field, Reader};
use executor_core::job::{
    AwsSecret, AzureSecret, GcpSecret, GitlabSecret, SecretStore, VaultEngine, VaultSecret,
};
use indexmap::IndexMap;
use yaml::Kind;

/// The stores.
pub(super) const STORES: [&str; 6] = [
    "vault",
    "azure_key_vault",
    "gcp_secret_manager",
    "aws_secrets_manager",
    "akeyless",
    "gitlab_secrets_manager",
];

/// The settings of Akeyless.
const AKEYLESS: [&str; 15] = [
    "name",
    "data_key",
    "cert_user_name",
    "public_key_data",
    "csr_data",
    "akeyless_api_url",
    "akeyless_access_type",
    "akeyless_access_key",
    "akeyless_token",
    "uid_token",
    "gcp_audience",
    "azure_object_id",
    "k8s_service_account_token",
    "k8s_auth_config_name",
    "gateway_ca_certificate",
];

/// The default engine of a Vault address.
const VAULT_ENGINE: &str = "kv-v2";

/// Reads the URL of a secret in one of the [`STORES`].
pub(super) fn read_store(
    reader: &mut Reader<'_>,
    store: &str,
    field: Field<'_>,
) -> Option<SecretStore> {
    match store {
        "vault" => read_vault(reader, field).map(SecretStore::Vault),
        "azure_key_vault" => read_azure(reader, field).map(SecretStore::AzureKeyVault),
        "gcp_secret_manager" => read_gcp(reader, field).map(SecretStore::GcpSecretManager),
        "aws_secrets_manager" => read_aws(reader, field).map(SecretStore::AwsSecretsManager),
        "akeyless" => read_akeyless(reader, field).map(SecretStore::Akeyless),
        _ => read_gitlab(reader, field).map(SecretStore::GitlabSecretsManager),
    }
}

/// Reads `path/to/secret/field@engine`, or the same as a mapping.
fn read_vault(reader: &mut Reader<'_>, field: Field<'_>) -> Option<VaultSecret> {
    if field.node.as_str().is_some() {
        return reader.text(field).map(|text| vault_from_text(&text));
    }
    if field.node.as_mapping().is_none() {
        reader.refuse(field, "should be a hash or a string");
        return None;
    }
    let mut secret = VaultSecret::default();
    reader.require(field, &["engine", "path", "field"]);
    reader.attributes(
        field,
        &["engine", "path", "field"],
        |reader, key, field| match key {
            "path" => secret.path = reader.text(field).unwrap_or_default(),
            "field" => secret.field = reader.text(field).unwrap_or_default(),
            _ => {}
        },
    );
    reader.entry(field, "engine", |reader, field| {
        if field.node.as_mapping().is_some() {
            reader.require(field, &["name", "path"]);
        }
        reader.attributes(field, &["name", "path"], |reader, key, field| match key {
            "name" => secret.engine.name = reader.text(field).unwrap_or_default(),
            _ => secret.engine.path = reader.text(field).unwrap_or_default(),
        });
    });
    Some(secret)
}

fn vault_from_text(text: &str) -> VaultSecret {
    let (address, engine) = text.rsplit_once('@').unwrap_or((text, VAULT_ENGINE));
    let (path, field) = address.rsplit_once('/').unwrap_or(("", address));
    VaultSecret {
        engine: VaultEngine {
            name: VAULT_ENGINE.to_owned(),
            path: engine.to_owned(),
        },
        path: path.to_owned(),
        field: field.to_owned(),
    }
}

fn read_azure(reader: &mut Reader<'_>, field: Field<'_>) -> Option<AzureSecret> {
    reader.mapping(field)?;
    let mut secret = AzureSecret::default();
    reader.require(field, &["name"]);
    reader.attributes(
        field,
        &["name", "version"],
        |reader, key, field| match key {
            "name" => secret.name = reader.text(field).unwrap_or_default(),
            _ => secret.version = reader.string(field),
        },
    );
    Some(secret)
}

fn read_gcp(reader: &mut Reader<'_>, field: Field<'_>) -> Option<GcpSecret> {
    reader.mapping(field)?;
    let mut secret = GcpSecret::default();
    reader.require(field, &["name"]);
    reader.attributes(
        field,
        &["name", "version"],
        |reader, key, field| match key {
            "name" => secret.name = reader.text(field).unwrap_or_default(),
            _ => secret.version = read_version(reader, field),
        },
    );
    Some(secret)
}

/// Reads `id#field`, or a mapping.
fn read_aws(reader: &mut Reader<'_>, field: Field<'_>) -> Option<AwsSecret> {
    const KEYS: [&str; 7] = [
        "secret_id",
        "version_id",
        "version_stage",
        "region",
        "role_arn",
        "role_session_name",
        "field",
    ];
    if field.node.as_str().is_some() {
        let text = reader.text(field)?;
        let (id, part) = match text.split_once('#') {
            Some((id, part)) => (id.to_owned(), Some(part.to_owned())),
            None => (text, None),
        };
        return Some(AwsSecret {
            secret_id: id,
            field: part,
            ..AwsSecret::default()
        });
    }
    if field.node.as_mapping().is_none() {
        reader.refuse(field, "should be a hash or a string");
        return None;
    }
    let mut secret = AwsSecret::default();
    reader.require(field, &["secret_id"]);
    reader.attributes(field, &KEYS, |reader, key, field| {
        let text = reader.text(field);
        match key {
            "secret_id" => secret.secret_id = text.unwrap_or_default(),
            "version_id" => secret.version_id = text,
            "version_stage" => secret.version_stage = text,
            "region" => secret.region = text,
            "role_arn" => secret.role_arn = text,
            "role_session_name" => secret.role_session_name = text,
            _ => secret.field = text,
        }
    });
    Some(secret)
}

fn read_akeyless(reader: &mut Reader<'_>, field: Field<'_>) -> Option<IndexMap<String, String>> {
    reader.mapping(field)?;
    let mut settings = IndexMap::new();
    reader.attributes(field, &AKEYLESS, |reader, key, field| {
        let text = reader.string(field);
        settings.extend(text.map(|text| (key.to_owned(), text)));
    });
    Some(settings)
}

fn read_gitlab(reader: &mut Reader<'_>, field: Field<'_>) -> Option<GitlabSecret> {
    reader.mapping(field)?;
    let mut secret = GitlabSecret::default();
    reader.require(field, &["name"]);
    reader.attributes(field, &["name", "source"], |reader, key, field| {
        let text = reader.text(field);
        match key {
            "name" => {
                let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if text
                    .as_ref()
                    .is_some_and(|name| !name.chars().all(is_allowed))
                {
                    reader.refuse(field, "can contain only letters, digits and '_'");
                }
                secret.name = text.unwrap_or_default();
            }
            _ => secret.source = text,
        }
    });
    Some(secret)
}

/// Reads a version, which may be a number.
fn read_version(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    match field.node.kind {
        Kind::Int(number) => Some(number.to_string()),
        _ => reader.string(field),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vault_address_may_be_one_string() {
        let secret = vault_from_text("production/db/password@ops");
        assert_eq!(secret.engine.path, "ops");
        assert_eq!(
            (&*secret.path, &*secret.field),
            ("production/db", "password")
        );
        assert_eq!(vault_from_text("a/b").engine.path, "kv-v2");
    }
}
