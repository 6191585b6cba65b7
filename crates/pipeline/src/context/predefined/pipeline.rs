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

    let only_if = |is_set: bool| is_set.then_some("true");
    let active = only_if(context.kubernetes_active);
    values.add_some(Phase::PrePipeline, "CI_KUBERNETES_ACTIVE", active);
    let freeze = only_if(context.deploy_freeze);
    values.add_some(Phase::PrePipeline, "CI_DEPLOY_FREEZE", freeze);
}

/// Adds the variables of the schedule, call, pipeline, chat or pull request that started the
/// pipeline.
pub(super) fn add_trigger(context: &PipelineContext, values: &mut Values) {
    use Phase::{Job, Pipeline, PrePipeline};
    let schedule = context.schedule_description.clone();
    values.add_some(PrePipeline, "CI_PIPELINE_SCHEDULE_DESCRIPTION", schedule);
    if let Some(trigger) = &context.trigger {
        values.add(Pipeline, "CI_PIPELINE_TRIGGERED", "true");
        values.add_some(Pipeline, "TRIGGER_PAYLOAD", trigger.payload.clone());
        values.add_some(Job, "CI_TRIGGER_SHORT_TOKEN", trigger.short_token.clone());
    }
    if let Some(upstream) = context.upstream {
        let mut add = |name: &str, id: u64| values.add(Pipeline, name, id.to_string());
        add("CI_UPSTREAM_PROJECT_ID", upstream.project_id);
        add("CI_UPSTREAM_PIPELINE_ID", upstream.pipeline_id);
        add("CI_UPSTREAM_JOB_ID", upstream.job_id);
    }
    if let Some(chat) = &context.chat {
        values.add(Pipeline, "CHAT_CHANNEL", chat.channel.as_str());
        values.add(Pipeline, "CHAT_INPUT", chat.input.as_str());
        values.add(Pipeline, "CHAT_USER_ID", chat.user_id.as_str());
    }
    if let Some(request) = &context.external_pull_request {
        let mut add = |end: &str, value: &str| {
            let name = format!("CI_EXTERNAL_PULL_REQUEST_{end}");
            values.add(PrePipeline, &name, value);
        };
        add("IID", &request.iid.to_string());
        add("SOURCE_REPOSITORY", &request.source_repository);
        add("TARGET_REPOSITORY", &request.target_repository);
        add("SOURCE_BRANCH_NAME", &request.source_branch);
        add("SOURCE_BRANCH_SHA", &request.source_sha);
        add("TARGET_BRANCH_NAME", &request.target_branch);
        add("TARGET_BRANCH_SHA", &request.target_sha);
    }
}
