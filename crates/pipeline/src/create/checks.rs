//! Checks of the included jobs: their needs and their variables.

use super::{CreatedJob, Creation, JobLayers, LayeredVariable, Layers, Problem};
use crate::context::{ExpandError, Kept, PipelineContext, sort_and_expand};
use executor_core::job::VariableDefinition;
use indexmap::IndexMap;
use std::collections::HashSet;

/// Finds needs of included jobs that are not in the pipeline.
pub(super) fn check_needs(
    jobs: &[CreatedJob],
    context: &PipelineContext,
    problems: &mut Vec<Problem>,
) {
    let included = jobs.iter().filter(|job| job.is_included);
    let names: HashSet<&str> = included.clone().map(CreatedJob::name).collect();
    for job in included {
        let Some(needs) = &job.definition.needs else {
            continue;
        };
        let (name, span, count) = (job.name(), job.resolved.span, needs.len());
        if count > context.most_needs {
            let most = context.most_needs;
            let message = format!("`{name}` needs {count} jobs; at most {most} are allowed");
            problems.push(Problem::new(message, span));
            continue;
        }
        let missing = needs.iter().filter(|need| !need.optional);
        for need in missing.filter(|need| !names.contains(need.job.as_str())) {
            let needed = &need.job;
            let message = format!("`{name}` needs `{needed}`, which is not in the pipeline");
            let help = format!(
                "its rules exclude `{needed}`; with `optional: true` the need is dropped in that case"
            );
            problems.push(Problem::new(message, span).with_help(help));
        }
    }
}

/// Finds variables that refer to each other in a cycle, or expand to too much text.
///
/// The shared variables are checked once. If they are correct, only a job's own references need
/// checking. Jobs with the same cycle are reported together.
pub(super) fn check_variables(
    jobs: &[CreatedJob],
    layers: &Layers<'_>,
    problems: &mut Vec<Problem>,
) {
    let is_shared_valid = expand(&layers.of_pipeline()).is_ok();
    let mut found: IndexMap<String, Vec<&CreatedJob>> = IndexMap::new();
    for job in jobs.iter().filter(|job| job.is_included) {
        let checked = if is_shared_valid {
            let referring = referring(job);
            if referring.is_empty() {
                continue;
            }
            Creation::job_layers(job, layers).check(referring)
        } else {
            expand(&Creation::job_layers(job, layers))
        };
        if let Err(error) = checked {
            found.entry(error.to_string()).or_default().push(job);
        }
    }
    problems.extend(found.into_iter().map(|(error, jobs)| {
        let others = match jobs.len() - 1 {
            0 => String::new(),
            1 => " and one other job".to_owned(),
            more => format!(" and {more} other jobs"),
        };
        let message = format!("`{}`{others}: {error}", jobs[0].name());
        Problem::new(message, jobs[0].resolved.span)
    }));
}

/// Returns the names of a job's own variables that contain references.
fn referring(job: &CreatedJob) -> Vec<String> {
    let own = [job.definition.job_variables.as_ref(), job.rule_variables()];
    let own = own.into_iter().flatten().flatten();
    let refers = |value: &VariableDefinition| !value.is_raw() && value.value().contains(['$', '%']);
    let referring = own.filter(|(_, value)| refers(value));
    referring.map(|(name, _)| name.clone()).collect()
}

/// Checks all variables but predefined ones, which contain no references.
fn expand(layers: &JobLayers<'_>) -> Result<(), ExpandError> {
    let variables = layers.external_and_written().into_iter();
    let variables = variables.map(LayeredVariable::to_variable).collect();
    sort_and_expand(variables, Kept::FOR_RUNNER).map(drop)
}
