//! Checks of the included jobs: their needs and their variables.

use super::conditions::Conditions;
use super::{CreatedJob, Creation, JobLayers, LayeredVariable, Layers, left_out};
use crate::context::{ExpandError, Kept, sort_and_expand};
use executor_core::job::VariableDefinition;
use executor_core::variable::LONGEST_VALUE;
use indexmap::IndexMap;
use std::collections::HashSet;
use yaml::diagnostic::Diagnostic;

/// Finds needs of included jobs that are not in the pipeline.
pub(super) fn check_needs(
    jobs: &[CreatedJob],
    conditions: &Conditions<'_>,
    layers: &Layers<'_>,
    problems: &mut Vec<Diagnostic>,
) {
    let included = jobs.iter().filter(|job| job.is_included);
    let names: HashSet<&str> = included.clone().map(CreatedJob::name).collect();
    for job in included {
        let Some(needs) = &job.definition.needs else {
            continue;
        };
        let (name, span, count) = (job.name(), job.resolved.span, needs.len());
        let most = conditions.situation().most_needs;
        if count > most {
            problems.push(Diagnostic {
                span,
                ..too_many_needs(name, count, most)
            });
            continue;
        }
        let missing = needs.iter().filter(|need| !need.optional);
        for need in missing.filter(|need| !names.contains(need.job.as_str())) {
            let needed = &need.job;
            let message = format!("`{name}` needs `{needed}`, which is not in the pipeline");
            let help = format!(
                "with `optional: true`, the need is dropped when rules leave `{needed}` out: \
                 `needs: [{{job: {needed}, optional: true}}]`"
            );
            let other = jobs.iter().find(|job| job.name() == needed);
            let why = other.map(|other| left_out::of_job(other, conditions, layers));
            let why = why.into_iter().flatten();
            let why = why.map(|(span, words)| (span, format!("leaves `{needed}` out: {words}")));
            let own = span.map(|span| (span, format!("needs `{needed}`")));
            problems.push(Diagnostic {
                span,
                related: own.into_iter().chain(why).collect(),
                help: Some(help),
                ..Diagnostic::error("left-out-need", message)
            });
        }
    }
}

/// Returns the error of a job with more needs than are allowed.
pub(super) fn too_many_needs(name: &str, count: usize, most: usize) -> Diagnostic {
    let message = format!("`{name}` needs {count} jobs; at most {most} are allowed");
    let help = "without `needs`, a job waits for all jobs of earlier stages";
    Diagnostic::error("too-many-needs", message).with_help(help.to_owned())
}

/// Finds variables that refer to each other in a cycle, or expand to too much text.
///
/// The shared variables are checked once. If they are correct, only a job's own references need
/// checking. Jobs with the same cycle are reported together.
pub(super) fn check_variables(
    jobs: &[CreatedJob],
    layers: &Layers<'_>,
    problems: &mut Vec<Diagnostic>,
) {
    problems.extend(
        invalid_variables(jobs, layers)
            .into_iter()
            .map(|(error, jobs)| {
                let others = match jobs.len() - 1 {
                    0 => String::new(),
                    1 => " and one other job".to_owned(),
                    more => format!(" and {more} other jobs"),
                };
                let message = format!("`{}`{others}: {error}", jobs[0].name());
                Diagnostic {
                    span: jobs[0].resolved.span,
                    ..Diagnostic::error(code_of(&error), message)
                }
            }),
    );
}

/// Returns the errors among the variables of included jobs, each with the jobs that have it.
pub(super) fn invalid_variables<'j>(
    jobs: &'j [CreatedJob],
    layers: &Layers<'_>,
) -> IndexMap<ExpandError, Vec<&'j CreatedJob>> {
    let is_shared_valid = expand(&layers.of_pipeline()).is_ok();
    let mut found: IndexMap<ExpandError, Vec<&CreatedJob>> = IndexMap::new();
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
            found.entry(error).or_default().push(job);
        }
    }
    found
}

/// Returns the code of an error among variables.
pub(super) fn code_of(error: &ExpandError) -> &'static str {
    match error {
        ExpandError::Cycle(_) => "variable-cycle",
        ExpandError::TooLong(_) | ExpandError::AllTooLong => "variables-too-large",
    }
}

/// Returns the names of a job's own variables that contain references, or are too long by themselves.
fn referring(job: &CreatedJob) -> Vec<String> {
    let own = [job.definition.job_variables.as_ref(), job.rule_variables()];
    let own = own.into_iter().flatten().flatten();
    let refers = |value: &VariableDefinition| {
        let text = value.value();
        text.len() > LONGEST_VALUE || !value.is_raw() && text.contains(['$', '%'])
    };
    let referring = own.filter(|(_, value)| refers(value));
    referring.map(|(name, _)| name.clone()).collect()
}

/// Checks all variables but predefined ones, which contain no references.
pub(super) fn expand(layers: &JobLayers<'_>) -> Result<(), ExpandError> {
    let variables = layers.external_and_written().into_iter();
    let variables = variables.map(LayeredVariable::to_variable).collect();
    sort_and_expand(variables, Kept::FOR_RUNNER).map(drop)
}
