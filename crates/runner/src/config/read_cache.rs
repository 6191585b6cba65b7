//! Reads `[runners.cache]`.

use super::cache_settings::{
    AzureContainer, CacheBucket, CacheSettings, GcsAccount, GcsBucket, S3Bucket, S3Encryption,
    S3Keys,
};
use super::collector::{Collector, Finding};
use super::read_global::one_of;
use super::source::Span;
use super::value::{boolean, key_span, text, value_span};
use std::path::PathBuf;
use toml_edit::{Item, TableLike};

/// Amazon's own server, as a file may name it.
const AMAZON: &str = "s3.amazonaws.com";

/// Where a bucket is when the file does not say it.
const DEFAULT_REGION: &str = "us-east-1";

/// Returns the bucket of a runner's caches; `None` without one, or if something in it is missing or wrong.
pub(super) fn read_cache(
    runner: &dyn TableLike,
    problems: &mut Collector<'_>,
) -> Option<CacheSettings> {
    let cache = runner.get("cache")?.as_table_like()?;
    let kind = one_of(cache, "Type", &["s3", "gcs", "azure"], problems)?;
    let Some(table) = cache.get(&kind).and_then(Item::as_table_like) else {
        let text = format!("`Type = {kind:?}` needs a table [runners.cache.{kind}]");
        problems.add(value_span(cache, "Type"), Finding::invalid(text));
        return None;
    };
    let mut reader = BucketReader {
        table,
        header: key_span(cache, &kind),
        problems,
    };
    let bucket = match kind.as_str() {
        "s3" => reader.s3().map(CacheBucket::S3),
        "gcs" => reader.gcs().map(CacheBucket::Gcs),
        _ => reader.azure().map(CacheBucket::Azure),
    };
    let bucket = bucket.ok()?;
    let size = cache
        .get("MaxUploadedArchiveSize")
        .and_then(Item::as_integer);
    Some(CacheSettings {
        bucket,
        path: text(cache, "Path").unwrap_or_default(),
        shared: boolean(cache, "Shared"),
        largest_archive: size
            .and_then(|size| u64::try_from(size).ok())
            .filter(|size| *size > 0),
    })
}

/// A key is missing or wrong, and that is reported.
#[derive(Debug)]
struct Reported;

/// The table of a bucket.
struct BucketReader<'a, 's> {
    table: &'a dyn TableLike,
    header: Option<Span>,
    problems: &'a mut Collector<'s>,
}

impl BucketReader<'_, '_> {
    fn text(&self, key: &str) -> Option<String> {
        text(self.table, key)
    }

    fn required(&mut self, key: &str) -> Result<String, Reported> {
        let found = self.text(key);
        let is_reported = self.table.get(key).is_some_and(|item| !item.is_str());
        if found.is_none() && !is_reported {
            let span = value_span(self.table, key).or(self.header.clone());
            let finding = Finding::invalid(format!("`{key}` is missing"));
            self.problems.add(span, finding);
        }
        found.ok_or(Reported)
    }

    /// Reports two keys of which only one is there.
    fn pair(&mut self, keys: [&str; 2]) -> Result<Option<(String, String)>, Reported> {
        match keys.map(|key| self.text(key)) {
            [None, None] => Ok(None),
            [Some(first), Some(second)] => Ok(Some((first, second))),
            [Some(_), None] => self.required(keys[1]).map(|_| None),
            [None, Some(_)] => self.required(keys[0]).map(|_| None),
        }
    }

    fn s3(&mut self) -> Result<S3Bucket, Reported> {
        let name = self.required("BucketName");
        let server = self.server();
        let kinds = ["access-key", "iam"];
        let kind = one_of(self.table, "AuthenticationType", &kinds, self.problems);
        let keys = if kind.as_deref() == Some("iam") {
            None
        } else {
            if kind.is_some() {
                self.required("AccessKey")?;
            }
            self.pair(["AccessKey", "SecretKey"])?
        };
        let encryption = self.encryption();
        let (name, server) = (name?, server?);
        let path_style = self.table.get("PathStyle").and_then(Item::as_bool);
        Ok(S3Bucket {
            // A name with dots has no certificate as a host.
            path_style: path_style.unwrap_or(server.is_some() || name.contains('.')),
            region: self
                .text("BucketLocation")
                .unwrap_or_else(|| DEFAULT_REGION.to_owned()),
            keys: keys.map(|(access_key, secret_key)| S3Keys {
                access_key: access_key.into(),
                secret_key: secret_key.into(),
                session_token: self.text("SessionToken").unwrap_or_default().into(),
            }),
            insecure: boolean(self.table, "Insecure"),
            dual_stack: self.table.get("DualStack").and_then(Item::as_bool) != Some(false),
            accelerate: boolean(self.table, "Accelerate"),
            encryption,
            name,
            server,
        })
    }

    /// Returns the server; `None` for Amazon's.
    fn server(&mut self) -> Result<Option<String>, Reported> {
        let Some(server) = self.text("ServerAddress").filter(|it| it != AMAZON) else {
            return Ok(None);
        };
        if server.contains(['/', '@', '?', '#']) || server.contains(char::is_whitespace) {
            let finding = Finding::invalid(
                "`ServerAddress` must be a host, with or without a port",
            )
            .with_hint(
                "`Insecure = true` takes the place of http://; a path cannot be written here",
            );
            let span = value_span(self.table, "ServerAddress");
            self.problems.add(span, finding);
            return Err(Reported);
        }
        Ok(Some(server))
    }

    fn encryption(&mut self) -> Option<S3Encryption> {
        let kinds = ["S3", "KMS", "DSSE-KMS"];
        let kind = one_of(self.table, "ServerSideEncryption", &kinds, self.problems)?;
        let key = self.text("ServerSideEncryptionKeyID");
        Some(match kind.as_str() {
            "S3" => S3Encryption::S3,
            "KMS" => S3Encryption::Kms(key),
            _ => S3Encryption::DsseKms(key),
        })
    }

    fn gcs(&mut self) -> Result<GcsBucket, Reported> {
        let name = self.required("BucketName");
        if self
            .text("UniverseDomain")
            .is_some_and(|it| it != "googleapis.com")
        {
            let finding = Finding::invalid("`UniverseDomain` must be googleapis.com");
            let span = value_span(self.table, "UniverseDomain");
            self.problems.add(span, finding);
        }
        let account = match self.text("CredentialsFile") {
            Some(file) => GcsAccount::File(PathBuf::from(file)),
            None => match self.pair(["AccessID", "PrivateKey"])? {
                Some((access_id, private_key)) => GcsAccount::Service {
                    access_id,
                    private_key: private_key.into(),
                },
                None => GcsAccount::Default,
            },
        };
        Ok(GcsBucket {
            name: name?,
            account,
        })
    }

    fn azure(&mut self) -> Result<AzureContainer, Reported> {
        let name = self.required("ContainerName");
        let account = self.required("AccountName");
        Ok(AzureContainer {
            name: name?,
            account: account?,
            key: self.text("AccountKey").map(Into::into),
            domain: self
                .text("StorageDomain")
                .unwrap_or_else(|| "blob.core.windows.net".to_owned()),
        })
    }
}
