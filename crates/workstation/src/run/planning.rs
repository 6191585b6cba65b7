//! What a run is going to run.

use super::options::RunOptions;
use crate::error::LocalError;
use crate::history::Earlier;
use crate::project::local_pipeline::LocalPipeline;
use crate::project::situation::stamp;
use pipeline::{Plan, create};

/// Creates the pipeline with this id and plans what was selected of it.
pub(super) fn plan(
    id: u64,
    pipeline: &LocalPipeline,
    options: &RunOptions,
    earlier: Option<&Earlier>,
) -> Result<Plan, LocalError> {
    let mut context = pipeline.context()?.clone();
    stamp(&mut context, id);
    let creation = create(pipeline.resolved(), &context, pipeline.repository()?);
    let mut selection = options.selection.clone();
    let Some(earlier) = earlier else {
        let plan = Plan::new(&creation, context, &selection)?;
        plan.check_local()?;
        return Ok(plan.in_dialect(pipeline.dialect()));
    };
    earlier.add_played(&mut selection, |name| {
        creation.job(name).is_some_and(|job| job.is_included)
    });
    let plan = Plan::new(&creation, context, &selection)?;
    plan.check_local()?;
    let mut plan = plan.in_dialect(pipeline.dialect());
    plan.keep_ids(&earlier.ids());
    Ok(plan)
}
