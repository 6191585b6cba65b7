//! The pipelines that jobs with `trigger` start: children of this project, and those of other
//! projects that are checked out here. See `docs/design/runs.md`.

mod begin;
mod child;
mod context;
mod control;
mod downstream;
mod family_artifacts;
mod other_project;
mod pipeline_tree;
mod read_pipeline;
mod refusal;

pub(crate) use downstream::LocalDownstream;
pub(crate) use family_artifacts::FamilyArtifacts;
pub(crate) use pipeline_tree::{HouseholdOptions, PipelineTree};
pub(crate) use read_pipeline::ReadPipeline;
