//! The pipelines that jobs with `trigger` start: children of this project, and those of other
//! projects that are checked out here. See `docs/design/runs.md`.

mod artifacts;
mod child;
mod context;
mod control;
mod other_project;
mod parent_pipeline;
mod pipeline_tree;
mod read_pipeline;
mod refusal;
mod start;

pub(crate) use artifacts::PipelineTreeArtifacts;
pub(crate) use parent_pipeline::LocalDownstream;
pub(crate) use pipeline_tree::PipelineTree;
pub(crate) use read_pipeline::ReadPipeline;
