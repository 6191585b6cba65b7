//! A job as plain data: what GitLab sends to a runner, and what a pipeline file says about it.
//!
//! [`Job`] is the payload every executor and job runner works on. It carries all fields of GitLab's
//! `POST /jobs/request` answer, and, for jobs planned from a `.gitlab-ci.yml`, the normalized
//! [`JobDefinition`] they were lowered from.

mod artifact;
mod cache;
mod definition;
mod features;
mod git;
mod hook;
mod id;
mod image;
mod info;
mod lenient;
mod need;
mod payload;
mod secret;
mod step;

pub use artifact::{Artifact, ArtifactFormat, ArtifactWhen, ArtifactsDefinition, Dependency};
pub use artifact::{DependencyArtifactsFile, Reports};
pub use cache::{Cache, CacheDefinition};
pub use definition::{JobDefinition, RetryDefinition, SchedulingKind, VariableDefinition, When};
pub use features::{JobFeatures, TracingFeatures};
pub use git::{GitInfo, RefType};
pub use hook::{Hook, HookName, HooksDefinition};
pub use id::{JobId, PipelineId};
pub use image::{Credentials, ExecutorOptions, Image, Port};
pub use info::{JobInfo, RunnerInfo};
pub(crate) use lenient::null_is_default;
pub use need::{CrossNeed, Need};
pub use payload::{Job, JobInput, JobInputValue, PolicyOptions, SuspendOptions};
pub use secret::SecretString;
pub use step::{Step, StepWhen};
