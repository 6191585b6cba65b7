use super::{
    ArtifactsDefinition, CacheDefinition, CrossNeed, EnvironmentDefinition, HooksDefinition,
    IdTokens, Image, Need, PagesDefinition, ReleaseDefinition, RunStep, Secrets, ServiceDefinition,
};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// When a job of a pipeline starts (`when`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// After all jobs it waits for succeeded.
    #[default]
    OnSuccess,
    /// After a job it waits for failed.
    OnFailure,
    /// In both cases.
    Always,
    /// On the user's request.
    Manual,
    /// After a delay (`start_in`).
    Delayed,
    /// Never.
    Never,
}

/// Whether a job waits for earlier stages or only for its needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingKind {
    /// The job waits for all earlier stages.
    #[default]
    Stage,
    /// The job waits for its `needs`.
    Dag,
}

/// How often and after which failures a job is retried (`retry`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryDefinition {
    /// The number of retries, 0 to 2; absent means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// The failures to retry after; absent means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Vec<String>>,
    /// The exit codes to retry after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_codes: Option<Vec<i32>>,
}

/// A variable as a pipeline file writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum VariableDefinition {
    /// `KEY: value`.
    Plain(String),
    /// `KEY: {value, expand}`.
    Detailed {
        /// The value.
        value: String,
        /// Whether references in the value are expanded; absent means yes.
        #[serde(skip_serializing_if = "Option::is_none")]
        expand: Option<bool>,
    },
}

impl VariableDefinition {
    /// Returns the value's text.
    pub fn value(&self) -> &str {
        match self {
            Self::Plain(value) | Self::Detailed { value, .. } => value,
        }
    }

    /// Returns whether references in the value stay unexpanded (`expand: false`).
    pub fn is_raw(&self) -> bool {
        matches!(
            self,
            Self::Detailed {
                expand: Some(false),
                ..
            }
        )
    }
}

/// A job of a pipeline file with `extends`, defaults and templates applied.
///
/// `runwright list --json` prints this shape. `null` means that neither the job nor its templates set
/// the keyword; `identity`, `secrets` and `run` are omitted instead. Keywords without a model keep
/// their value as JSON, so that none is lost.
///
/// Large and rare fields are boxed and common values shared: a pipeline may have ten thousand jobs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobDefinition {
    /// The expanded name (`test 1/2`, `build: [linux]`).
    pub name: String,
    /// The stage; `test` when the job names none.
    pub stage: String,
    /// When it starts.
    pub when: When,
    /// Whether it may fail.
    pub allow_failure: bool,
    /// The only exit codes for which a failure lets the pipeline pass.
    pub allow_failure_exit_codes: Option<Vec<i32>>,
    /// The commands.
    pub script: Option<Vec<String>>,
    /// Commands before them, in the same shell.
    pub before_script: Option<Vec<String>>,
    /// Commands after them, in a shell of their own.
    pub after_script: Option<Vec<String>>,
    /// The image.
    pub image: Option<Box<Image>>,
    /// The services.
    pub services: Option<Vec<ServiceDefinition>>,
    /// The artifacts to upload.
    pub artifacts: Option<Box<ArtifactsDefinition>>,
    /// How often it is retried.
    pub retry: Option<RetryDefinition>,
    /// The pipeline it starts instead of a script.
    pub trigger: Option<Box<Value>>,
    /// The release it creates.
    pub release: Option<Box<ReleaseDefinition>>,
    /// The jobs whose artifacts it downloads; absent means those of all earlier stages.
    pub dependencies: Option<Vec<String>>,
    /// The delay of a delayed job, as a GitLab duration.
    pub start_in: Option<String>,
    /// Scripts around the fetching of sources.
    pub hooks: Option<HooksDefinition>,
    /// The environment it deploys to.
    pub environment: Option<Box<EnvironmentDefinition>>,
    /// The pages it publishes.
    pub pages: Option<Box<PagesDefinition>>,
    /// The longest it may take, in seconds.
    pub timeout_seconds: Option<u64>,
    /// Its caches.
    pub cache: Option<Vec<CacheDefinition>>,
    /// The number of jobs that `parallel` created, this one included.
    pub parallel_total: Option<u32>,
    /// The index among them, from 1.
    pub node_index: Option<u32>,
    /// The jobs it needs; absent means that it waits for the earlier stages.
    pub needs: Option<Vec<Need>>,
    /// Needs in other pipelines.
    pub needs_cross: Option<Vec<CrossNeed>>,
    /// The tags a runner must have.
    pub tags: Option<Vec<String>>,
    /// The pattern for the coverage in the log.
    pub coverage: Option<String>,
    /// `only`, as written.
    pub only: Option<Arc<Value>>,
    /// `except`, as written.
    pub except: Option<Arc<Value>>,
    /// `rules`, as written.
    pub rules: Option<Arc<Value>>,
    /// Whether a newer pipeline may cancel it.
    pub interruptible: Option<bool>,
    /// The group of which only one job runs at a time.
    pub resource_group: Option<String>,
    /// Whether it waits for stages or only for needs.
    pub scheduling: SchedulingKind,
    /// The identity tokens it gets.
    pub id_tokens: Option<Box<IdTokens>>,
    /// The cloud identity it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The inputs it takes.
    pub inputs: Option<Box<JobInputDefinitions>>,
    /// Secrets from an external store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Box<Secrets>>,
    /// Steps it runs instead of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<RunStep>>,
    /// The variables the job itself defines.
    pub job_variables: Option<IndexMap<String, VariableDefinition>>,
    /// The job's variables merged with the inherited ones.
    pub variables: IndexMap<String, String>,
}

/// The inputs of a job by name (`inputs`), in the normalized shape.
pub type JobInputDefinitions = IndexMap<String, JobInputDefinition>;

/// An input of a job: a value that the user may set when starting the job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobInputDefinition {
    /// `string`, `number`, `boolean` or `array`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The default value.
    pub default: Value,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Value>,
    /// The allowed values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Value>>,
    /// A pattern that a value must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
}
