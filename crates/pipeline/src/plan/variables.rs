use super::{Plan, PlannedJob};
use crate::context::{JobEnvironment, Kept, PipelineContext, has_references, sort_and_expand};
use crate::create::{JobLayers, LayeredVariable};
use executor_core::job::{JobDefinition, JobId};
use executor_core::variable::{JobVariable, JobVariables};

/// What tells of an environment wins over all other variables of these names.
pub const LAST: [&str; 2] = ["CI_ENVIRONMENT_SLUG", "CI_ENVIRONMENT_URL"];

/// Returns the predefined variables that all jobs of a pipeline see; `name` is the pipeline's.
pub fn of_pipeline(name: Option<&str>, context: &PipelineContext) -> JobVariables {
    let mut predefined = context.pipeline_variables();
    if let Some(name) = name {
        predefined.push(JobVariable {
            raw: true,
            ..JobVariable::public("CI_PIPELINE_NAME", name)
        });
    }
    predefined
}

/// Returns the predefined variables that one job alone has.
pub fn predefined_of_job(
    definition: &JobDefinition,
    id: JobId,
    context: &PipelineContext,
    sight: &JobLayers<'_>,
) -> JobVariables {
    let environment = definition.environment.as_deref().map(|environment| {
        let name = sight.environment();
        JobEnvironment::new(environment, name.unwrap_or_default())
    });
    context.job_variables(definition, id, environment.as_ref())
}

/// Returns the variables of a job as its runner gets them: references among them replaced, those
/// left that only the runner knows.
pub(super) fn of_job(
    plan: &Plan,
    job: &PlannedJob,
    sight: &JobLayers<'_>,
    dotenv: &[JobVariable],
) -> Vec<JobVariable> {
    let own = own_variables(plan, job, sight, dotenv);
    // What all jobs see is copied as it is: only the few variables of its own are looked up.
    let mut variables = Vec::with_capacity(plan.predefined.len() + own.len());
    variables.extend(plan.predefined.iter().cloned());
    for variable in own.iter().cloned() {
        match plan.predefined.position(&variable.key) {
            Some(at) => variables[at] = variable,
            None => variables.push(variable),
        }
    }
    if !variables.iter().any(has_references) {
        return variables;
    }
    // What is left to fail is a value that the commit's message makes far too long; then the
    // references stay for the runner.
    sort_and_expand(variables.clone(), Kept::FOR_RUNNER).unwrap_or(variables)
}

fn own_variables(
    plan: &Plan,
    job: &PlannedJob,
    sight: &JobLayers<'_>,
    dotenv: &[JobVariable],
) -> JobVariables {
    let mut own = predefined_of_job(&job.definition, job.id, &plan.context, sight);
    let last = LAST.map(|name| own.variable(name).cloned());
    own.extend(
        sight
            .given_and_written()
            .into_iter()
            .map(LayeredVariable::to_variable),
    );
    let is_given = |name: &str| sight.find(name).is_some_and(|found| found.given.is_some());
    let reported = dotenv.iter().filter(|variable| !is_given(&variable.key));
    own.extend(reported.cloned());
    own.extend(last.into_iter().flatten());
    own
}
