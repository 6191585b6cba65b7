use super::{Phase, Values};
use crate::context::PipelineContext;
use crate::slug::slug;

/// Adds the variables of the project and its pipeline file.
pub(super) fn add(context: &PipelineContext, values: &mut Values) {
    let project = &context.project;
    let namespace = project.namespace();
    let or =
        |text: &str, otherwise: &str| if text.is_empty() { otherwise } else { text }.to_owned();
    let mut add = |name: &str, value: String| values.add(Phase::PrePipeline, name, value);
    add("CI_PROJECT_ID", project.id.to_string());
    add("CI_PROJECT_NAME", project.name().to_owned());
    add("CI_PROJECT_TITLE", or(&project.title, project.name()));
    add("CI_PROJECT_DESCRIPTION", project.description.clone());
    add("CI_PROJECT_PATH", project.path.clone());
    add("CI_PROJECT_PATH_SLUG", slug(&project.path));
    add("CI_PROJECT_NAMESPACE", namespace.to_owned());
    add("CI_PROJECT_NAMESPACE_SLUG", slug(namespace));
    add("CI_PROJECT_NAMESPACE_ID", project.namespace_id.to_string());
    add(
        "CI_PROJECT_ROOT_NAMESPACE",
        project.root_namespace().to_owned(),
    );
    add("CI_PROJECT_URL", context.project_url());
    add("CI_PROJECT_VISIBILITY", or(&project.visibility, "private"));
    add(
        "CI_PROJECT_REPOSITORY_LANGUAGES",
        project.languages.join(","),
    );
    add("CI_PROJECT_CLASSIFICATION_LABEL", String::new());
    add("CI_PROJECT_TOPICS", project.topics.join(","));
    add("CI_CONFIG_PATH", context.config_path.clone());
    add("CI_CONFIG_REF_URI", config_ref_uri(context));
    add("CI_DEFAULT_BRANCH", project.default_branch.clone());
}

/// Returns the URI of the pipeline file; `//` separates the project from the path in it.
fn config_ref_uri(context: &PipelineContext) -> String {
    let url = context.project_url();
    let project = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    format!("{project}//{}@{}", context.config_path, context.ref_path())
}
