use super::{Plan, PlannedJob};
use crate::context::{JobEnvironment, Kept, PipelineContext, has_references, sort_and_expand};
use crate::create::{JobLayers, LayeredVariable};
use executor_core::job::{JobDefinition, JobId};
use executor_core::variable::{JobVariable, JobVariables};

/// The variables of an environment that override all others of the same name.
pub const LAST: [&str; 2] = ["CI_ENVIRONMENT_SLUG", "CI_ENVIRONMENT_URL"];

/// Returns the predefined variables of all jobs of a pipeline; `name` is the pipeline's.
pub fn of_pipeline(name: Option<&str>, context: &PipelineContext) -> JobVariables {
    let mut predefined = context.pipeline_variables();
    if let Some(name) = name
        && !context.unset.contains("CI_PIPELINE_NAME")
    {
        predefined.push(JobVariable {
            raw: true,
            ..JobVariable::public("CI_PIPELINE_NAME", name)
        });
    }
    predefined
}

/// Returns the predefined variables of one job.
pub fn predefined_of_job(
    definition: &JobDefinition,
    id: JobId,
    context: &PipelineContext,
    job_layers: &JobLayers<'_>,
) -> JobVariables {
    let environment = definition.environment.as_deref().map(|environment| {
        let name = job_layers.environment();
        JobEnvironment::new(environment, name.unwrap_or_default())
    });
    context.job_variables(definition, id, environment.as_ref())
}

/// Returns the variables of a job in the form its runner receives: references among them are
/// expanded, except those to variables that only the runner knows.
pub(super) fn of_job(
    plan: &Plan,
    job: &PlannedJob,
    job_layers: &JobLayers<'_>,
    dotenv: &[JobVariable],
) -> Vec<JobVariable> {
    let own = own_variables(plan, job, job_layers, dotenv);
    // Shared variables are copied unchanged; only the few of the job itself are looked up.
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
    // The only remaining failure is a value that a long commit message makes too large; then the
    // runner expands the references.
    sort_and_expand(variables.clone(), Kept::FOR_RUNNER).unwrap_or(variables)
}

fn own_variables(
    plan: &Plan,
    job: &PlannedJob,
    job_layers: &JobLayers<'_>,
    dotenv: &[JobVariable],
) -> JobVariables {
    let mut own = predefined_of_job(&job.definition, job.id, &plan.context, job_layers);
    let last = LAST.map(|name| own.variable(name).cloned());
    own.extend(
        job_layers
            .external_and_written()
            .into_iter()
            .map(LayeredVariable::to_variable),
    );
    let is_given = |name: &str| {
        job_layers
            .find(name)
            .is_some_and(|found| found.external.is_some())
    };
    let reported = dotenv.iter().filter(|variable| !is_given(&variable.key));
    own.extend(reported.cloned());
    own.extend(last.into_iter().flatten());
    own
}
