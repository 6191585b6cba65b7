use super::{Phase, Values, commit};
use crate::context::{MergeRequest, MergeRequestEvent, PipelineContext};

/// The maximum number of characters of its description in a variable.
const LONGEST_DESCRIPTION: usize = 2_700;

/// Adds the variables of the merge request.
pub(super) fn add(context: &PipelineContext, values: &mut Values) {
    let Some(request) = &context.merge_request else {
        return;
    };
    let project = &context.project;
    let mut add = |end: &str, value: String| {
        let name = format!("CI_MERGE_REQUEST_{end}");
        values.add(Phase::PrePipeline, &name, value);
    };
    add("ID", request.id.to_string());
    add("IID", request.iid.to_string());
    add("REF_PATH", request.ref_path());
    add("PROJECT_ID", project.id.to_string());
    add("PROJECT_PATH", project.path.clone());
    add("PROJECT_URL", context.project_url());
    add("TITLE", request.title.clone());
    let (description, is_truncated) = description(&request.description);
    add("DESCRIPTION", description.to_owned());
    add("DESCRIPTION_IS_TRUNCATED", is_truncated.to_string());
    add("DRAFT", request.is_draft.to_string());
    add("SQUASH_ON_MERGE", request.squashes.to_string());
    add("EVENT_TYPE", request.event.to_string());
    add("DIFF_ID", request.diff_id.to_string());
    add("DIFF_BASE_SHA", request.diff_base_sha.clone());
    add_branches(context, request, &mut add);
    if !request.assignees.is_empty() {
        add("ASSIGNEES", request.assignees.join(", "));
    }
    if !request.labels.is_empty() {
        add("LABELS", request.labels.join(","));
    }
    if let Some(milestone) = &request.milestone {
        add("MILESTONE", milestone.clone());
    }
    if request.is_approved == Some(true) {
        add("APPROVED", "true".to_owned());
    }
    let open = format!("{}!{}", project.path, request.iid);
    values.add(Phase::PrePipeline, "CI_OPEN_MERGE_REQUESTS", open);
}

fn add_branches(
    context: &PipelineContext,
    request: &MergeRequest,
    add: &mut impl FnMut(&str, String),
) {
    let (source, target) = (&request.source, &request.target);
    // GitLab sets the commits only if the pipeline runs for a merge result.
    let sha = |sha: &str| match request.event {
        MergeRequestEvent::Detached => String::new(),
        MergeRequestEvent::MergedResult | MergeRequestEvent::MergeTrain => sha.to_owned(),
    };
    add("TARGET_BRANCH_NAME", target.name.clone());
    add("TARGET_BRANCH_PROTECTED", target.is_protected.to_string());
    add("TARGET_BRANCH_SHA", sha(&target.sha));
    add("SOURCE_BRANCH_NAME", source.name.clone());
    add("SOURCE_BRANCH_PROTECTED", source.is_protected.to_string());
    add("SOURCE_BRANCH_SHA", sha(&source.sha));
    let project = request.source_project.as_ref().unwrap_or(&context.project);
    add("SOURCE_PROJECT_ID", project.id.to_string());
    add("SOURCE_PROJECT_PATH", project.path.clone());
    add("SOURCE_PROJECT_URL", context.url_of(project));
}

/// Returns the start of a description, and whether it was truncated.
fn description(text: &str) -> (&str, bool) {
    let end = text.char_indices().nth(LONGEST_DESCRIPTION);
    let start = end.map_or(text, |(end, _)| commit::cut(text, end));
    (start, end.is_some())
}
