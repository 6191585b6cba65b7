//! The messages between a runner and its GitLab, for both sides.
//!
//! The paths are below `/api/v4`; `docs.gitlab.com/ci/runners` and the API's reference describe them. Jobs themselves are
//! [`executor_core::job::Job`].

use executor_core::job::SecretString;
use executor_core::{ConfigInfo, FeaturesInfo};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The header with a job's token.
pub const JOB_TOKEN: &str = "job-token";
/// The header with a runner's token.
pub const RUNNER_TOKEN: &str = "runner-token";
/// The header of an answer without a job, to be sent back as [`JobRequest::last_update`].
pub const LAST_UPDATE: &str = "x-gitlab-last-update";
/// The header with a job's state at the server.
pub const JOB_STATUS: &str = "job-status";
/// The header with the seconds between two pieces of a log.
pub const TRACE_UPDATE_INTERVAL: &str = "x-gitlab-trace-update-interval";

/// A description of a runner (`info`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunnerInfo {
    /// The program.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its commit.
    pub revision: String,
    /// The operating system, by Go's name.
    pub platform: String,
    /// The processor, by Go's name.
    pub architecture: String,
    /// The executor.
    pub executor: String,
    /// The shell of scripts.
    pub shell: String,
    /// What the runner can do.
    pub features: FeaturesInfo,
    /// Its hardware.
    pub config: ConfigInfo,
    /// Labels of the operator.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// `POST jobs/request`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobRequest {
    /// The runner.
    pub info: RunnerInfo,
    /// Its token.
    pub token: SecretString,
    /// The machine.
    pub system_id: String,
    /// The value of [`LAST_UPDATE`] in the answer before, if that had no job. While it is current, the server may hold the request.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_update: String,
    /// Where the server reaches the terminals of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
}

/// The session server of a runner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// The address of the job's session.
    pub url: String,
    /// The server's certificate, in PEM.
    pub certificate: String,
    /// The value of `Authorization`.
    pub authorization: SecretString,
}

/// `PUT jobs/:id`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobUpdate {
    /// The runner.
    pub info: RunnerInfo,
    /// The job's token.
    pub token: SecretString,
    /// The state.
    pub state: UpdateState,
    /// GitLab's name of the reason, of a failed job.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_reason: String,
    /// The checksum of the log once more, as older servers expect it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
    /// The log so far.
    pub output: UpdateOutput,
    /// The exit code of a failed script.
    #[serde(skip_serializing_if = "is_zero")]
    pub exit_code: i32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "for serde")]
fn is_zero(code: &i32) -> bool {
    *code == 0
}

/// The state in a [`JobUpdate`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdateState {
    /// The environment is prepared, in a keep-alive.
    Pending,
    /// It runs.
    #[default]
    Running,
    /// It succeeded.
    Success,
    /// It failed, or was canceled.
    Failed,
}

/// Length and checksum of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateOutput {
    /// `crc32:` and eight hexadecimal digits.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checksum: String,
    /// The length in bytes; absent for an empty log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytesize: Option<u64>,
}

/// `POST runners`, with a registration token.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Registration {
    /// The registration token.
    pub token: SecretString,
    /// The runner.
    pub info: RunnerInfo,
    /// Its description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A note for administrators.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub maintenance_note: String,
    /// Its tags, separated by commas.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tag_list: String,
    /// Whether it runs jobs without tags.
    pub run_untagged: bool,
    /// Whether it is for one project.
    pub locked: bool,
    /// `not_protected` or `ref_protected`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub access_level: String,
    /// The longest a job may take, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_timeout: Option<u64>,
    /// Whether it is created paused.
    pub paused: bool,
}

/// `POST runners/verify`, `DELETE runners` and `DELETE runners/managers`, `POST runners/reset_authentication_token`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunnerCall {
    /// The runner; only to verify it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<RunnerInfo>,
    /// Its token.
    pub token: SecretString,
    /// The machine; for a token that several machines share.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system_id: String,
}

/// The answer to a registration, a verification or a new token.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegisteredRunner {
    /// The runner's id.
    pub id: u64,
    /// Its token.
    pub token: SecretString,
    /// When that expires (RFC 3339); absent for never.
    pub token_expires_at: Option<String>,
}
