//! Plans of short pipeline files.

use pipeline::context::PipelineContext;
use pipeline::repository::NoRepository;
use pipeline::{Plan, PlanError, ResolvedPipeline, Selection, create};
use std::sync::Arc;

/// Resolves a valid file.
pub(crate) fn resolve(text: &str) -> ResolvedPipeline {
    match ResolvedPipeline::from_text("ci.yml", text).into_result() {
        Ok((resolved, _)) => resolved,
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

pub(crate) fn plan(text: &str) -> Arc<Plan> {
    plan_of(text, &Selection::default())
}

pub(crate) fn plan_of(text: &str, selection: &Selection) -> Arc<Plan> {
    Arc::new(try_plan(&resolve(text), PipelineContext::default(), selection).unwrap())
}

/// Plans a pipeline without a repository.
pub(crate) fn try_plan(
    resolved: &ResolvedPipeline,
    context: PipelineContext,
    selection: &Selection,
) -> Result<Plan, PlanError> {
    let creation = create(resolved, &context, &NoRepository);
    Plan::new(&creation, context, selection)
}
