//! What a pipeline knows besides its file: the commit, the project, who started it, and the
//! variables that all of this becomes.
//!
//! One file holds each noun as plain data; `predefined` turns the nouns into GitLab's variables,
//! and `given` holds the variables that come from outside the file, each with where it is from.
//! The caller finds all of it out: nothing here looks at a repository, the clock or the environment.

mod commit;
mod environment;
mod expand;
mod given;
mod merge_request;
mod pipeline_context;
mod predefined;
mod project;
mod reference;
mod trigger;

pub use commit::Commit;
pub use environment::{JobEnvironment, environment_slug, environment_tier};
pub(crate) use expand::has_references;
pub use expand::{ExpandError, Kept, sort_and_expand};
pub use given::{GivenSource, GivenVariable, Level, fits_scope};
pub use merge_request::{MergeRequest, MergeRequestBranch, MergeRequestEvent};
pub use pipeline_context::{PipelineContext, RefKind, User};
pub use predefined::Phase;
pub use predefined::{group_name, job_value};
pub use project::Project;
pub use reference::{expand, expand_existing};
pub(crate) use reference::{referenced, references};
pub use trigger::{Chat, ExternalPullRequest, Relative, Trigger, Upstream};
