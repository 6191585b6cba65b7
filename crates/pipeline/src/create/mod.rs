//! Creates the pipeline of a situation: evaluates `workflow`, `rules`, `only` and `except` of a
//! resolved pipeline.
//!
//! The steps are GitLab's: the workflow decides whether there is a pipeline, each job's rules
//! decide whether and how it is included, and only then the needs of the included jobs are checked.
//! Variables are layers that jobs share and look names up in, so that ten thousand jobs do not need
//! ten thousand maps.

mod always;
mod cache_key;
mod checks;
mod conditions;
mod creation;
mod definition_layers;
mod document;
mod job;
mod layered_variable;
mod layers;
mod left_out;
mod names;
mod pipeline;
mod values;
mod workflow;

pub use conditions::Conditions;
pub use creation::{CreatedJob, Creation, LeftOutBy, Refusal, RefusalReason};
pub use document::PlanDocument;
pub use layered_variable::{Layer, LayeredVariable};
pub use layers::{JobLayers, Layers};
pub use pipeline::create;
use values::Values;
