//! Resource groups: of the jobs in one, one runs at a time.

mod groups;
mod local_resources;
mod pipeline_groups;
mod process_mode;

pub(crate) use groups::wait;
pub use groups::{ResourceError, ResourceGroups, ResourceLease, ResourceRequest};
pub use local_resources::LocalResources;
pub(crate) use pipeline_groups::PipelineGroups;
pub use process_mode::{Contender, ProcessMode};
