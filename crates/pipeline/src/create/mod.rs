//! From a resolved pipeline and a situation to the jobs that run in it: `workflow`, `rules`, `only`
//! and `except` are decided here.
//!
//! The steps are GitLab's: the workflow decides whether there is a pipeline, each job's rules
//! decide whether and how it is in it, and only then what the jobs that are left need is looked
//! for. Variables are layers that jobs share: a job looks names up in them one by one, so that ten
//! thousand jobs never have ten thousand maps.

mod cache_key;
mod circles;
mod conditions;
mod creation;
mod document;
mod job;
mod layers;
mod needs;
mod own_layers;
mod pipeline;
mod values;
mod workflow;

pub use conditions::Conditions;
pub use creation::{CreatedJob, Creation, LeftOutBy, Problem, Refusal, RefusalReason};
pub use document::PlanDocument;
pub use layers::{JobLayers, Layer, LayeredVariable, Layers};
pub use pipeline::create;
use values::Values;
