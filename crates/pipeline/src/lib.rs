//! Turns a `.gitlab-ci.yml` into jobs and schedules them.

mod compose;
pub mod config;
pub mod context;
pub mod diagnostic;
mod graph;
mod pipeline;
pub mod plan;
mod resolve;
pub mod scheduler;
mod slug;
pub mod source;
pub mod suggest;
pub mod yaml;

pub use pipeline::Pipeline;
pub use plan::{Plan, PlanError, PlannedJob, Selection};
pub use resolve::ResolvedPipeline;
pub use slug::slug;
