//! The creation and explanation of pipelines.

mod explain;
mod jobs;
mod linear;
mod variables;

use crate::plans::resolve;
use pipeline::context::{Commit, ExternalVariable, PipelineContext, Project};
use pipeline::repository::KnownRepository;
use pipeline::{Creation, create};

/// A push to the default branch of a project.
pub(super) fn push() -> PipelineContext {
    PipelineContext {
        project: Project {
            path: "group/app".to_owned(),
            default_branch: "main".to_owned(),
            ..Project::default()
        },
        commit: Commit {
            ref_name: "main".to_owned(),
            ..Commit::default()
        },
        ..PipelineContext::default()
    }
}

pub(super) fn given(variables: Vec<ExternalVariable>) -> PipelineContext {
    PipelineContext {
        external: variables,
        ..push()
    }
}

pub(super) fn created(text: &str, context: &PipelineContext) -> Creation {
    create(&resolve(text), context, &KnownRepository::default())
}
