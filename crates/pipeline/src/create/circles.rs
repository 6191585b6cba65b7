use super::{CreatedJob, Creation, Found, JobLayers, Layers, Problem};
use crate::config::Variables;
use crate::context::{ExpandError, Kept, sort_and_expand};
use executor_core::job::VariableDefinition;
use indexmap::IndexMap;

/// Finds variables that refer to each other in a circle, or become far too long.
///
/// What all jobs share is looked at once: a job of whose own variables none refers to another cannot
/// make it worse. Jobs that share a circle are told of together.
pub(super) fn check(jobs: &[CreatedJob], layers: &Layers<'_>, problems: &mut Vec<Problem>) {
    let shared = expand(&layers.of_pipeline());
    let mut found: IndexMap<String, Vec<&CreatedJob>> = IndexMap::new();
    for job in jobs.iter().filter(|job| job.is_included) {
        let own = [job.definition.job_variables.as_ref(), job.rule_variables()];
        if shared.is_ok() && !own.into_iter().flatten().any(may_refer) {
            continue;
        }
        if let Err(error) = expand(&Creation::sight(job, layers)) {
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

fn may_refer(variables: &Variables) -> bool {
    let refers = |value: &VariableDefinition| !value.is_raw() && value.value().contains(['$', '%']);
    variables.values().any(refers)
}

/// Predefined variables refer to nothing, so they can be left out here.
fn expand(layers: &JobLayers<'_>) -> Result<(), ExpandError> {
    let variables = layers.given_and_written().into_iter();
    let variables = variables.map(Found::to_variable).collect();
    sort_and_expand(variables, Kept::FOR_RUNNER).map(drop)
}
