use super::{Protection, Reference};
use gitlab_api::{Instance, Variable};
use pipeline::context::{Level, PipelineContext};

/// Whose variables are asked for, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The project, by its full path.
    pub(super) project: String,
    /// What the pipeline is for: a branch or a tag, or the two branches of a merge request.
    pub(super) references: Vec<Reference>,
}

/// What a GitLab answered.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) server: Instance,
    /// The strongest last.
    pub(super) keepers: Vec<Keeper>,
    /// Whether each of the references is protected.
    pub(super) protection: Protection,
    /// Whose variables are not told, and why.
    pub(super) notes: Vec<String>,
}

/// A project, a group or the server, with the variables it keeps.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) level: Level,
    /// The project or group; absent for the server.
    pub(super) path: Option<String>,
    pub(super) variables: Vec<Variable>,
}

impl Wanted {
    /// Returns what is to be asked for a pipeline of a project.
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
