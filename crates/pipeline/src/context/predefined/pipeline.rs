use super::{Phase, Values};
use crate::context::PipelineContext;

/// Adds the variables of the pipeline and of the user who started it.
pub(super) fn add(context: &PipelineContext, values: &mut Values) {
    let url = format!("{}/-/pipelines/{}", context.project_url(), context.id);
    let created = format!("{:.0}", context.created_at);
    values.add(Phase::Job, "CI_PIPELINE_ID", context.id.to_string());
    values.add(Phase::Pipeline, "CI_PIPELINE_IID", context.iid.to_string());
    values.add(Phase::Job, "CI_PIPELINE_URL", url);
    values.add(
        Phase::PrePipeline,
        "CI_PIPELINE_SOURCE",
        context.source.as_str(),
    );
    values.add(Phase::PrePipeline, "CI_PIPELINE_CREATED_AT", created);

    let user = &context.user;
    values.add(Phase::Pipeline, "GITLAB_USER_ID", user.id.to_string());
    values.add(Phase::Pipeline, "GITLAB_USER_LOGIN", user.login.as_str());
    values.add(Phase::Pipeline, "GITLAB_USER_NAME", user.name.as_str());
    values.add(Phase::Pipeline, "GITLAB_USER_EMAIL", user.email.as_str());

    let only_if = |holds: bool| holds.then_some("true");
    let active = only_if(context.kubernetes_active);
    values.add_some(Phase::PrePipeline, "CI_KUBERNETES_ACTIVE", active);
    let freeze = only_if(context.deploy_freeze);
    values.add_some(Phase::PrePipeline, "CI_DEPLOY_FREEZE", freeze);
}
