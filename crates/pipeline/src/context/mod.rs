//! The context of a pipeline besides its file: the commit, the project, the user, and the variables
//! derived from them.
//!
//! Each file has one noun as plain data; `predefined` derives GitLab's variables from the nouns,
//! and `external_variable` has those from outside the file with their origins. The caller provides all
//! data: nothing here reads a repository, the clock or the process environment.

mod commit;
mod environment;
mod expand;
mod external_variable;
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
pub use external_variable::{ExternalSource, ExternalVariable, Level, matches_scope};
pub use merge_request::{MergeRequest, MergeRequestBranch, MergeRequestEvent};
pub use pipeline_context::{PipelineContext, RefKind, User};
pub use predefined::Phase;
pub use predefined::{group_name, job_value};
pub use project::Project;
pub use reference::{expand, expand_existing};
pub(crate) use reference::{referenced, references};
pub use trigger::{AncestorPipeline, Chat, ExternalPullRequest, Trigger, Upstream};
