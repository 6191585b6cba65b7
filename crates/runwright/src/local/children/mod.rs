//! The pipelines that jobs with `trigger` start: children of this project, and those of other
//! projects that are checked out here. See `docs/design/runs.md`.

mod begin;
mod child;
mod context;
mod control;
mod downstream;
mod family_artifacts;
mod household;
mod other_project;
mod read_pipeline;
mod refusal;

pub(super) use downstream::LocalDownstream;
pub(super) use family_artifacts::FamilyArtifacts;
pub(super) use household::{Household, HouseholdOptions};
pub(super) use read_pipeline::ReadPipeline;
