//! The keys of `[runners.cache]`.

use super::ValueKind::{Bool, Bytes, Integer, Text};
use super::{KeyGroup, KeySpec};

/// The reason for the keys about roles.
const NO_ROLE: &str =
    "no role is assumed; the credentials themselves must be allowed to use the bucket";

pub(super) const GROUPS: &[KeyGroup] = &[
    KeyGroup {
        table: "runners.cache",
        keys: CACHE,
    },
    KeyGroup {
        table: "runners.cache.s3",
        keys: S3,
    },
    KeyGroup {
        table: "runners.cache.gcs",
        keys: GCS,
    },
    KeyGroup {
        table: "runners.cache.azure",
        keys: AZURE,
    },
];

const CACHE: &[KeySpec] = &[
    KeySpec::supported(
        "Type",
        Text,
        "caches stay on this host",
        "where caches are kept: `s3`, `gcs` or `azure`",
    )
    .differs("environments that only scripts reach keep caches in `cache_dir`"),
    KeySpec::supported("Path", Text, "", "what the names of all objects begin with"),
    KeySpec::supported(
        "Shared",
        Bool,
        "false",
        "whether all runners share the caches of a project",
    ),
    KeySpec::supported(
        "MaxUploadedArchiveSize",
        Bytes,
        "0, for no limit",
        "the largest archive to upload, in bytes; a larger one is a warning in the log",
    ),
];

const S3: &[KeySpec] = &[
    KeySpec::supported(
        "ServerAddress",
        Text,
        "Amazon S3",
        "the host and port of the server",
    ),
    KeySpec::supported("AccessKey", Text, "", "the id of the access key"),
    KeySpec::supported("SecretKey", Text, "", "the access key"),
    KeySpec::supported("SessionToken", Text, "", "the token of a temporary key"),
    KeySpec::supported("BucketName", Text, "", "the bucket; required"),
    KeySpec::supported(
        "BucketLocation",
        Text,
        "us-east-1",
        "the region of the bucket",
    )
    .differs("the server is not asked for it"),
    KeySpec::supported("Insecure", Bool, "false", "whether to use `http`"),
    KeySpec::supported(
        "AuthenticationType",
        Text,
        "access-key with keys, else iam",
        "`access-key`, or `iam` for the role of the machine, the pod or the task",
    ),
    KeySpec::supported(
        "ServerSideEncryption",
        Text,
        "",
        "how the server encrypts objects: `S3`, `KMS` or `DSSE-KMS`",
    ),
    KeySpec::supported(
        "ServerSideEncryptionKeyID",
        Text,
        "the default key",
        "the key of `KMS`",
    ),
    KeySpec::supported(
        "DualStack",
        Bool,
        "true",
        "whether Amazon's servers are reached over IPv6 as well",
    ),
    KeySpec::supported(
        "PathStyle",
        Bool,
        "true with a `ServerAddress` or for a name with dots",
        "whether the bucket is in the path of an address, and not in its host",
    ),
    KeySpec::supported(
        "Accelerate",
        Bool,
        "false",
        "whether Amazon's transfer acceleration is used",
    ),
    KeySpec::no_effect("RoleARN", Text, NO_ROLE),
    KeySpec::no_effect(
        "UploadRoleARN",
        Text,
        "uploads use the credentials of the runner, which jobs do not have",
    ),
    KeySpec::no_effect("AssumeRoleMaxConcurrency", Integer, NO_ROLE),
    KeySpec::no_effect("DisableAssumeRoleCredentialsCaching", Bool, NO_ROLE),
];

const GCS: &[KeySpec] = &[
    KeySpec::supported("AccessID", Text, "", "the address of a service account"),
    KeySpec::supported("PrivateKey", Text, "", "the private key of that account"),
    KeySpec::supported(
        "CredentialsFile",
        Text,
        "",
        "a file with credentials; it comes before `AccessID`",
    ),
    KeySpec::supported("BucketName", Text, "", "the bucket; required"),
    KeySpec::supported(
        "UniverseDomain",
        Text,
        "googleapis.com",
        "the domain of Google's services",
    )
    .differs("another one is refused"),
];

const AZURE: &[KeySpec] = &[
    KeySpec::supported("AccountName", Text, "", "the storage account; required"),
    KeySpec::supported(
        "AccountKey",
        Text,
        "the identity of the machine or the pod",
        "the key of the account",
    ),
    KeySpec::supported("ContainerName", Text, "", "the container; required"),
    KeySpec::supported(
        "StorageDomain",
        Text,
        "blob.core.windows.net",
        "the domain of all accounts",
    ),
];
