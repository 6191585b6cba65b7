//! The context of a pipeline that a job of another one starts.

use crate::project::situation::{PARENT, UPSTREAM};
use executor_core::variable::JobVariable;
use pipeline::context::{ExternalVariable, Level, PipelineContext, Upstream};
use scheduler::Bridge;

/// Returns the context of a child pipeline: that of its parent without what the parent was started with.
/// It gets its number later, by [`stamp`](crate::project::situation::stamp).
pub(super) fn of_child(bridge: &Bridge) -> PipelineContext {
    let mut context = bridge.plan.context().clone();
    PARENT.clone_into(&mut context.source);
    context.trigger = None;
    context.chat = None;
    context.schedule_description = None;
    context.ancestors = bridge.plan.ancestors_of_children();
    context
        .external
        .retain(|given| given.level != Level::Pipeline);
    pass_down(&mut context, bridge);
    context
}

/// Changes the context of another project's pipeline to one that a job of this pipeline started.
pub(super) fn of_other_project(context: &mut PipelineContext, bridge: &Bridge) {
    UPSTREAM.clone_into(&mut context.source);
    pass_down(context, bridge);
}

fn pass_down(context: &mut PipelineContext, bridge: &Bridge) {
    let parent = bridge.plan.context();
    context.upstream = Some(Upstream {
        project_id: parent.project.id,
        pipeline_id: parent.id.0,
        job_id: bridge.job.id.0,
    });
    context.created_at = jiff::Timestamp::now();
    context.external.extend(forwarded(bridge).map(given));
}

/// Returns the variables that the pipeline gets from the job that starts it.
pub(super) fn forwarded(bridge: &Bridge) -> impl Iterator<Item = JobVariable> + use<> {
    let forwarded = bridge.plan.forwarded(bridge.index, &bridge.dotenv);
    let forwarded: Vec<JobVariable> = forwarded.iter().cloned().collect();
    forwarded.into_iter()
}

fn given(variable: JobVariable) -> ExternalVariable {
    ExternalVariable::of_option("trigger", Level::Pipeline, variable)
}
