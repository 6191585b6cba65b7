//! The plan of a run.

use super::options::RunOptions;
use super::other_projects;
use crate::error::LocalError;
use crate::history::ContinuedRun;
use crate::project::local_pipeline::LocalPipeline;
use crate::project::situation::stamp;
use pipeline::context::PipelineContext;
use pipeline::create::Creation;
use pipeline::{Dialect, Plan, PlanError, Selection, create};

/// Creates the pipeline with this id and plans the selected jobs.
pub(super) fn plan(
    id: u64,
    pipeline: &LocalPipeline,
    options: &RunOptions,
    earlier: Option<&ContinuedRun>,
) -> Result<Plan, LocalError> {
    let mut context = pipeline.context()?.clone();
    stamp(&mut context, id);
    let mut creation = create(pipeline.resolved(), &context, pipeline.repository()?);
    let mut selection = options.selection.clone();
    if options.ignore_other_projects {
        let outside = &pipeline.read_pipeline().outside;
        let left_out = other_projects::leave_out(&mut creation, &context, outside)?;
        for warning in left_out.warnings {
            options.notices.show(&format!("warning: {warning}"));
        }
        selection.skip.extend(left_out.jobs);
    }
    let plan = plan_created(&creation, context, selection, pipeline.dialect(), earlier)?;
    Ok(plan)
}

/// Plans the selected jobs of a created pipeline, and those played in the earlier run that is continued.
pub(super) fn plan_created(
    creation: &Creation,
    context: PipelineContext,
    mut selection: Selection,
    dialect: Dialect,
    earlier: Option<&ContinuedRun>,
) -> Result<Plan, PlanError> {
    if let Some(earlier) = earlier {
        earlier.add_played(&mut selection, creation);
    }
    let plan = Plan::new(creation, context, &selection)?;
    plan.check_local()?;
    let mut plan = plan.in_dialect(dialect);
    if let Some(earlier) = earlier {
        plan.keep_ids(&earlier.ids());
    }
    Ok(plan)
}
