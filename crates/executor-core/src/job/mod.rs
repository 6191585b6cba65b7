//! A job as plain data: what GitLab sends to a runner, and what a pipeline file says about it.
//!
//! [`Job`] is the payload every executor and job runner works on. It carries all fields of GitLab's
//! `POST /jobs/request` answer, and, for jobs planned from a `.gitlab-ci.yml`, the normalized
//! [`JobDefinition`] they were lowered from.

mod artifact;
mod cache;
mod definition;
mod environment;
mod features;
mod git;
mod hook;
mod id;
mod id_token;
mod image;
mod info;
mod input_definition;
mod lenient;
mod need;
mod pages;
mod payload;
mod release;
mod run_step;
mod secret;
mod secret_store;
mod service;
mod step;

pub use artifact::{Artifact, ArtifactFormat, ArtifactWhen, ArtifactsDefinition, Dependency};
pub use artifact::{DependencyArtifactsFile, Reports};
pub use cache::{Cache, CacheDefinition, CacheKeyDefinition, CacheKeyFiles};
pub use definition::{JobDefinition, RetryDefinition, SchedulingKind, VariableDefinition, When};
pub use environment::{ClusterDashboard, DeploymentTier, EnvironmentAction};
pub use environment::{EnvironmentCluster, EnvironmentDefinition, ManagedResources};
pub use features::{JobFeatures, TracingFeatures};
pub use git::{GitInfo, RefType};
pub use hook::{Hook, HookName, HooksDefinition};
pub use id::{JobId, PipelineId};
pub use id_token::{IdTokenDefinition, IdTokens};
pub use image::{Credentials, ExecutorOptions, Image, Port};
pub use info::{JobInfo, RunnerInfo};
pub use input_definition::{JobInputDefinition, JobInputDefinitions};
pub(crate) use lenient::null_is_default;
pub use need::{CrossNeed, Need};
pub use pages::{PagesDefinition, PagesSettings};
pub use payload::{Job, JobInput, JobInputValue, PolicyOptions, SuspendOptions};
pub use release::{OneOrMany, ReleaseAssets, ReleaseDefinition};
pub use run_step::{GitStep, OciStep, RunStep, StepReference};
pub use secret::SecretString;
pub use secret_store::{AwsSecret, AzureSecret, GcpSecret, GitlabSecret, SecretDefinition};
pub use secret_store::{SecretStore, Secrets, VaultEngine, VaultSecret};
pub use service::ServiceDefinition;
pub use step::{Step, StepWhen};
