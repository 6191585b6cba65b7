use super::{
    ArtifactsDefinition, CacheDefinition, CrossNeed, EnvironmentDefinition, HooksDefinition,
    IdTokens, Image, JobInputDefinitions, Need, PagesDefinition, ReleaseDefinition, RunStep,
    Secrets, ServiceDefinition,
};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// When a job of a pipeline starts (`when`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// When all it waits for succeeded.
    #[default]
    OnSuccess,
    /// When something it waits for failed.
    OnFailure,
    /// In both cases.
    Always,
    /// When somebody asks for it.
    Manual,
    /// Some time after it could start (`start_in`).
    Delayed,
    /// Not at all.
    Never,
}

/// Whether a job waits for the stages before it, or for its needs alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingKind {
    /// It waits for all earlier stages.
    #[default]
    Stage,
    /// It waits for its `needs`.
    Dag,
}

/// How often and after which failures a job is tried again (`retry`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryDefinition {
    /// How many times more, 0 to 2; absent means not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// After which failures; absent means after all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<Vec<String>>,
    /// After which exit codes.
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
        /// Whether references in it are expanded; absent means yes.
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

    /// Returns whether references in the value are left as they are (`expand: false`).
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

/// A job of a pipeline file after everything that composes it was applied.
///
/// This is the shape `runwright list --json` prints: `null` means that neither the job nor what it
/// inherits from says anything; `identity`, `secrets` and `run` are left out then. Keywords whose meaning is not modelled yet keep their value as
/// JSON, so that none is lost on the way.
///
/// What is large and rare is boxed, and what many jobs have alike is shared: a pipeline may have ten
/// thousand jobs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobDefinition {
    /// The expanded name (`test 1/2`, `build: [linux]`).
    pub name: String,
    /// The stage; `test` when the job names none.
    pub stage: String,
    /// When it starts.
    pub when: When,
    /// Whether its failure lets the pipeline pass.
    pub allow_failure: bool,
    /// The exit codes for which alone a failure lets the pipeline pass.
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
    /// The files to keep.
    pub artifacts: Option<Box<ArtifactsDefinition>>,
    /// How often it is tried again.
    pub retry: Option<RetryDefinition>,
    /// The pipeline it starts instead of a script.
    pub trigger: Option<Box<Value>>,
    /// The release it makes.
    pub release: Option<Box<ReleaseDefinition>>,
    /// The jobs whose artifacts it fetches; absent means those of all earlier stages.
    pub dependencies: Option<Vec<String>>,
    /// The delay of a delayed job, in GitLab's duration words.
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
    /// How many siblings `parallel` made of it, itself included.
    pub parallel_total: Option<u32>,
    /// Which of them it is, from 1.
    pub node_index: Option<u32>,
    /// The jobs it needs; absent means that it waits for the earlier stages.
    pub needs: Option<Vec<Need>>,
    /// Needs that point out of the pipeline.
    pub needs_cross: Option<Vec<CrossNeed>>,
    /// The tags a runner must have.
    pub tags: Option<Vec<String>>,
    /// The pattern that finds the coverage in the log.
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
    /// Whether it waits for stages or for needs.
    pub scheduling: SchedulingKind,
    /// The identity tokens it gets.
    pub id_tokens: Option<Box<IdTokens>>,
    /// The cloud as whose user it acts.
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
    /// Those and the inherited ones, merged.
    pub variables: IndexMap<String, String>,
}
