use executor_core::job::SecretString;
use std::path::PathBuf;

/// `[runners.cache]`: a bucket for the caches of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSettings {
    /// The bucket.
    pub bucket: CacheBucket,
    /// What all names of objects begin with (`Path`); empty for nothing.
    pub path: String,
    /// Whether all runners share the caches of a project (`Shared`).
    pub shared: bool,
    /// The largest archive to upload, in bytes (`MaxUploadedArchiveSize`); `None` for no limit.
    pub largest_archive: Option<u64>,
}

/// A bucket, with the credentials for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheBucket {
    /// Amazon S3, or a server with the same protocol.
    S3(S3Bucket),
    /// Google Cloud Storage.
    Gcs(GcsBucket),
    /// Azure Blob Storage.
    Azure(AzureContainer),
}

/// `[runners.cache.s3]`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the keys of config.toml")]
pub struct S3Bucket {
    /// The bucket's name.
    pub name: String,
    /// The host and port of the server; `None` for Amazon's.
    pub server: Option<String>,
    /// The region of the bucket.
    pub region: String,
    /// The keys; `None` for those that the environment or the machine has.
    pub keys: Option<S3Keys>,
    /// Whether requests are sent over `http`.
    pub insecure: bool,
    /// Whether the bucket is in the path of an address, and not in its host.
    pub path_style: bool,
    /// Whether Amazon's servers are reached over IPv6 as well.
    pub dual_stack: bool,
    /// Whether Amazon's transfer acceleration is used.
    pub accelerate: bool,
    /// How the server encrypts objects.
    pub encryption: Option<S3Encryption>,
}

/// The keys of an account of S3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Keys {
    /// The id of the key.
    pub access_key: SecretString,
    /// The key.
    pub secret_key: SecretString,
    /// The token of a temporary key; empty for a lasting one.
    pub session_token: SecretString,
}

/// How the server encrypts objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum S3Encryption {
    /// With a key of S3.
    S3,
    /// With a key of the key service; without an id, with the default one.
    Kms(Option<String>),
    /// Twice, with a key of the key service.
    DsseKms(Option<String>),
}

/// `[runners.cache.gcs]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcsBucket {
    /// The bucket's name.
    pub name: String,
    /// The account.
    pub account: GcsAccount,
}

/// An account of Google Cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GcsAccount {
    /// The one that the environment or the machine has.
    Default,
    /// That of a file with credentials.
    File(PathBuf),
    /// A service account.
    Service {
        /// The address of the account.
        access_id: String,
        /// Its private key, in PEM.
        private_key: SecretString,
    },
}

/// `[runners.cache.azure]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureContainer {
    /// The container's name.
    pub name: String,
    /// The storage account.
    pub account: String,
    /// Its key; `None` for the identity that the environment or the machine has.
    pub key: Option<SecretString>,
    /// The domain of all accounts.
    pub domain: String,
}
