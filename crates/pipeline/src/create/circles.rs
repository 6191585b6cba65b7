use super::{CreatedJob, Creation, JobLayers, LayeredVariable, Layers, Problem};
use crate::context::{ExpandError, Kept, sort_and_expand};
use executor_core::job::VariableDefinition;
use indexmap::IndexMap;

/// Finds variables that refer to each other in a circle, or become far too long.
///
/// What all jobs share is looked at once. If that is in order, only a job's own variables that refer
/// to others can be wrong, or what they refer to. Jobs that share a circle are told of together.
pub(super) fn check(jobs: &[CreatedJob], layers: &Layers<'_>, problems: &mut Vec<Problem>) {
    let is_shared_fine = expand(&layers.of_pipeline()).is_ok();
    let mut found: IndexMap<String, Vec<&CreatedJob>> = IndexMap::new();
    for job in jobs.iter().filter(|job| job.is_included) {
        let checked = if is_shared_fine {
            let referring = referring(job);
            if referring.is_empty() {
                continue;
            }
            Creation::sight(job, layers).check(referring)
        } else {
            expand(&Creation::sight(job, layers))
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

/// Returns the names of a job's own variables that may refer to others.
fn referring(job: &CreatedJob) -> Vec<String> {
    let own = [job.definition.job_variables.as_ref(), job.rule_variables()];
    let own = own.into_iter().flatten().flatten();
    let refers = |value: &VariableDefinition| !value.is_raw() && value.value().contains(['$', '%']);
    let referring = own.filter(|(_, value)| refers(value));
    referring.map(|(name, _)| name.clone()).collect()
}

/// Predefined variables refer to nothing, so they can be left out here.
fn expand(layers: &JobLayers<'_>) -> Result<(), ExpandError> {
    let variables = layers.given_and_written().into_iter();
    let variables = variables.map(LayeredVariable::to_variable).collect();
    sort_and_expand(variables, Kept::FOR_RUNNER).map(drop)
}
