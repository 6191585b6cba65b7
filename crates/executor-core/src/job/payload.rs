use super::lenient::{known_hooks, null_is_default};
use super::{
    Artifact, Cache, Credentials, Dependency, GitInfo, Hook, Image, JobDefinition, JobFeatures,
    JobId, JobInfo, RunnerInfo, SecretString, Step,
};
use crate::variable::JobVariable;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One job, ready to run.
///
/// It serializes as the JSON of GitLab's job request. Payloads of newer and older versions of GitLab
/// are accepted: unknown fields and unknown hooks are ignored; absent fields, `null` and unknown
/// keywords have their defaults.
///
/// # Examples
///
/// ```
/// use executor_core::job::Job;
///
/// let job: Job = serde_json::from_str(
///     r#"{"id": 7, "job_info": {"name": "test"}, "steps": [{"name": "script", "script": ["make"]}]}"#,
/// )?;
/// assert_eq!(job.job_info.name, "test");
/// assert_eq!(job.step("script").map(|step| step.script.as_slice()), Some(&["make".to_owned()][..]));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    /// The id, assigned by the source.
    #[serde(deserialize_with = "null_is_default")]
    pub id: JobId,
    /// The job's token; a secret.
    #[serde(deserialize_with = "null_is_default")]
    pub token: SecretString,
    /// Whether an existing working tree may be reused.
    #[serde(deserialize_with = "null_is_default")]
    pub allow_git_fetch: bool,
    /// The name, pipeline and project.
    #[serde(deserialize_with = "null_is_default")]
    pub job_info: JobInfo,
    /// The repository and commit.
    #[serde(deserialize_with = "null_is_default")]
    pub git_info: GitInfo,
    /// The source's data about the runner.
    #[serde(deserialize_with = "null_is_default")]
    pub runner_info: RunnerInfo,
    /// Its inputs.
    #[serde(deserialize_with = "null_is_default")]
    pub inputs: Vec<JobInput>,
    /// Its variables, merged by the source; later ones have precedence.
    #[serde(deserialize_with = "null_is_default")]
    pub variables: Vec<JobVariable>,
    /// Its scripts.
    #[serde(deserialize_with = "null_is_default")]
    pub steps: Vec<Step>,
    /// Its image.
    #[serde(deserialize_with = "null_is_default")]
    pub image: Image,
    /// Its services.
    #[serde(deserialize_with = "null_is_default")]
    pub services: Vec<Image>,
    /// Its artifacts to upload.
    #[serde(deserialize_with = "null_is_default")]
    pub artifacts: Vec<Artifact>,
    /// Its caches.
    #[serde(deserialize_with = "null_is_default")]
    pub cache: Vec<Cache>,
    /// Registry access.
    #[serde(deserialize_with = "null_is_default")]
    pub credentials: Vec<Credentials>,
    /// Jobs whose artifacts it downloads.
    #[serde(deserialize_with = "null_is_default")]
    pub dependencies: Vec<Dependency>,
    /// The features of its source.
    #[serde(deserialize_with = "null_is_default")]
    pub features: JobFeatures,
    /// Secrets from an external store, by variable name.
    #[serde(deserialize_with = "null_is_default")]
    pub secrets: IndexMap<String, Value>,
    /// Scripts around the fetching of sources.
    #[serde(deserialize_with = "known_hooks")]
    pub hooks: Vec<Hook>,
    /// Steps to run through a step-runner instead of `steps`, as JSON text.
    #[serde(deserialize_with = "null_is_default")]
    pub run: String,
    /// Limits a security policy puts on the job.
    #[serde(deserialize_with = "null_is_default")]
    pub policy_options: PolicyOptions,
    /// Whether and when its environment is suspended for a later job.
    #[serde(deserialize_with = "null_is_default")]
    pub suspend_options: SuspendOptions,
    /// The definition in the pipeline file; absent for jobs of a remote source.
    ///
    /// It is never serialized: GitLab's payload has no such field.
    #[serde(skip)]
    pub definition: Option<Box<JobDefinition>>,
}

impl Job {
    /// Returns the step of this name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }
}

/// An input of a job (`inputs[]`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobInput {
    /// The input's name.
    #[serde(deserialize_with = "null_is_default")]
    pub key: String,
    /// Its value.
    #[serde(deserialize_with = "null_is_default")]
    pub value: JobInputValue,
}

/// The value of a [`JobInput`].
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobInputValue {
    /// `string`, `number`, `boolean` or `array`.
    #[serde(rename = "type")]
    #[serde(deserialize_with = "null_is_default")]
    pub kind: String,
    /// The value itself.
    pub content: Value,
    /// Whether it is a secret.
    #[serde(deserialize_with = "null_is_default")]
    pub sensitive: bool,
}

impl std::fmt::Debug for JobInputValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("JobInputValue");
        debug
            .field("kind", &self.kind)
            .field("sensitive", &self.sensitive);
        if self.sensitive {
            debug.field("content", &"[MASKED]").finish()
        } else {
            debug.field("content", &self.content).finish()
        }
    }
}

/// The limits of a security policy on a job (`policy_options`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PolicyOptions {
    /// Whether a policy created the job.
    #[serde(deserialize_with = "null_is_default")]
    pub execution_policy_job: bool,
    /// The policy's name.
    #[serde(deserialize_with = "null_is_default")]
    pub policy_name: String,
    /// Whether users may override the policy's variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_variables_override_allowed: Option<bool>,
    /// The exceptions from that rule.
    #[serde(deserialize_with = "null_is_default")]
    pub policy_variables_override_exceptions: Vec<String>,
}

/// Whether and when an environment is suspended for a later job (`suspend_options`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuspendOptions {
    /// Suspend it after the job succeeds.
    #[serde(deserialize_with = "null_is_default")]
    pub suspend_on_success: bool,
    /// Suspend it after the job fails.
    #[serde(deserialize_with = "null_is_default")]
    pub suspend_on_failure: bool,
    /// The suspended environment to resume; empty means a new one.
    #[serde(deserialize_with = "null_is_default")]
    pub runtime_environment_key: String,
}
