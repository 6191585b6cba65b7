//! A job as plain data: GitLab's payload for a runner, and the definition in a pipeline file.
//!
//! [`Job`] is the payload for every executor and job runner. It has all fields of GitLab's response to
//! `POST /jobs/request`. A job planned from a `.gitlab-ci.yml` also has its normalized
//! [`JobDefinition`].

mod artifact;
mod cache;
mod definition;
mod environment;
mod git;
mod image;
mod info;
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
pub use definition::{JobDefinition, JobInputDefinition, JobInputDefinitions, RetryDefinition};
pub use definition::{SchedulingKind, VariableDefinition, When};
pub use environment::{ClusterDashboard, DeploymentTier, EnvironmentAction};
pub use environment::{EnvironmentCluster, EnvironmentDefinition, ManagedResources};
pub use git::{GitInfo, RefType};
pub use image::{Credentials, ExecutorOptions, Image, Port};
pub use info::{JobFeatures, JobId, JobInfo, PipelineId, RunnerInfo, TracingFeatures};
pub(crate) use lenient::null_is_default;
pub use need::{CrossNeed, Need};
pub use pages::{PagesDefinition, PagesSettings};
pub use payload::{Job, JobInput, JobInputValue, PolicyOptions, SuspendOptions};
pub use release::{OneOrMany, ReleaseAssets, ReleaseDefinition};
pub use run_step::{GitStep, OciStep, RunStep, StepReference};
pub use secret::SecretString;
pub use secret_store::{AwsSecret, AzureSecret, GcpSecret, GitlabSecret, IdTokenDefinition};
pub use secret_store::{IdTokens, SecretDefinition};
pub use secret_store::{SecretStore, Secrets, VaultEngine, VaultSecret};
pub use service::ServiceDefinition;
pub use step::{Hook, HookName, HooksDefinition, Step, StepWhen};
