//! Turns a `.gitlab-ci.yml` into jobs and schedules them.

mod compose;
pub mod config;
pub mod diagnostic;
mod pipeline;
mod resolve;
pub mod source;
pub mod suggest;
pub mod yaml;

pub use pipeline::Pipeline;
pub use resolve::ResolvedPipeline;
