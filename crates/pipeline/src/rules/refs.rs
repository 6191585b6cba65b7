use super::RefPattern;
use crate::context::{PipelineContext, RefKind};

impl RefPattern {
    /// Returns whether an entry of `refs` matches a pipeline.
    ///
    /// Words name the trigger of the pipeline (`merge_requests`, `schedules`, ...) or the kind of
    /// its ref (`branches`, `tags`); names and regular expressions match only branches and tags.
    pub fn is_match(&self, pipeline: &PipelineContext) -> bool {
        match self {
            Self::Name(text) => {
                let (name, project) = match text.split_once('@') {
                    Some((name, project)) => (name, Some(project)),
                    None => (text.as_str(), None),
                };
                is_project(project, pipeline) && is_name(name, pipeline)
            }
            Self::Pattern { pattern, project } => {
                let is_match = |ref_name: &str| pattern.is_match(ref_name);
                is_project(project.as_deref(), pipeline) && ref_name(pipeline).is_some_and(is_match)
            }
        }
    }
}

fn is_project(project: Option<&str>, pipeline: &PipelineContext) -> bool {
    project.is_none_or(|project| project == pipeline.project.path)
}

fn is_name(name: &str, pipeline: &PipelineContext) -> bool {
    let kind = pipeline.ref_kind();
    let source = pipeline.source.strip_suffix("_event");
    let source = source.unwrap_or(&pipeline.source);
    (name == "branches" && kind == RefKind::Branch)
        || (name == "tags" && kind == RefKind::Tag)
        || name == source
        || name == plural(source)
        || ref_name(pipeline) == Some(name)
}

/// Returns the name of the branch or tag; none for a merge request.
fn ref_name(pipeline: &PipelineContext) -> Option<&str> {
    let is_ref = pipeline.ref_kind() != RefKind::MergeRequest;
    is_ref.then_some(pipeline.commit.ref_name.as_str())
}

/// Returns the English plural of the last word.
fn plural(word: &str) -> String {
    let sibilants = ["s", "x", "z", "ch", "sh"];
    let is_sibilant = sibilants.iter().any(|end| word.ends_with(end));
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        // The only source with such an ending is `push`.
        _ if is_sibilant => format!("{word}es"),
        _ => format!("{word}s"),
    }
}
