use super::{Protection, Reference};
use gitlab_api::{Instance, Variable};
use pipeline::context::{Level, PipelineContext};

/// What is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The project, by its full path.
    pub(super) project: String,
    /// The branch or tag of the pipeline, or the two branches of a merge request.
    pub(super) references: Vec<Reference>,
}

/// The responses of a GitLab.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) server: Instance,
    /// The highest precedence last.
    pub(super) keepers: Vec<Keeper>,
    /// Whether each of the references is protected.
    pub(super) protection: Protection,
    /// Notes about variables that cannot be read.
    pub(super) notes: Vec<String>,
}

/// A project, a group or the server, with its variables.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) level: Level,
    /// The project or group; `None` for the server.
    pub(super) path: Option<String>,
    pub(super) variables: Vec<Variable>,
}

impl Wanted {
    /// Returns what to request for a pipeline of a project.
    pub(super) fn of(project: String, context: &PipelineContext) -> Self {
        let references = match &context.merge_request {
            Some(request) => vec![
                Reference::branch(&request.source.name),
                Reference::branch(&request.target.name),
            ],
            None => vec![Reference {
                kind: context.commit.ref_type,
                name: context.commit.ref_name.clone(),
            }],
        };
        Self {
            project,
            references,
        }
    }
}
