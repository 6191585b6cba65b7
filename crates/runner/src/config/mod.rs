//! `config.toml`, as GitLab Runner has it.
//!
//! [`ConfigFile`] reads a file with all its problems, [`ConfigEdit`] changes one and keeps its comments. The program passes
//! what it knows about executors as [`Known`].

mod cache_settings;
mod collector;
mod edit;
mod error;
mod explain;
mod fields_of;
mod file;
mod fingerprint;
mod go_duration;
mod key_check;
mod keys;
mod known;
mod problem;
mod read_cache;
mod read_global;
mod read_runner;
mod runner_settings;
mod secrets;
mod settings;
mod source;
mod table_check;
mod value;

pub use cache_settings::{
    AzureContainer, CacheBucket, CacheSettings, GcsAccount, GcsBucket, S3Bucket, S3Encryption,
    S3Keys,
};
pub use edit::{ConfigEdit, EditError, NewRunner, RunnerEntry, RunnerSelector};
pub use error::ConfigError;
pub use fields_of::fields_of;
pub use file::ConfigFile;
pub(crate) use fingerprint::fingerprint;
pub use keys::key_table_markdown;
pub use known::{
    DefaultDifference, Fields, KeyNote, Known, KnownExecutor, KnownTable, Strictness, TableProblem,
};
pub use problem::{Problem, ProblemKind, Severity};
pub use read_runner::parse_url;
pub use runner_settings::{ArtifactSettings, ExecutorTables, RunnerSettings, read_table};
pub use settings::{SessionServerSettings, Settings};
