use super::cache_key::CacheKeys;
use super::checks::Locations;
use super::conditions::Conditions;
use super::{
    CreatedJob, Creation, JobLayers, Layers, Refusal, RefusalReason, checks, job, left_out,
    workflow,
};
use crate::config::{FIRST_STAGE, LAST_STAGE, Variables};
use crate::context::{Phase, PipelineContext};
use crate::repository::Repository;
use crate::resolve::ResolvedPipeline;
use std::sync::Arc;
use yaml::diagnostic::Diagnostic;

/// Creates the pipeline of a situation, or returns why there is none.
///
/// Problems of several jobs are all reported.
pub fn create(
    resolved: &ResolvedPipeline,
    context: &PipelineContext,
    repository: &dyn Repository,
) -> Creation {
    let predefined = context.predefined(Phase::Pipeline);
    let conditions = Conditions::new(context, repository);
    let mut creation = Creation {
        is_skipped: context.is_skipped(),
        stages: resolved.stages.clone(),
        global_variables: Arc::new(resolved.variables.clone()),
        auto_cancel: resolved.workflow.auto_cancel,
        ..Creation::default()
    };
    let global = Arc::clone(&creation.global_variables);
    let none = Variables::new();

    let layers = Layers::new(context, &predefined, &global, &none);
    match workflow::decide(&resolved.workflow, &conditions, &layers.of_pipeline()) {
        Ok(rule) => creation.workflow_rule = rule,
        Err(refusal) => creation.refusal = Some(refusal),
    }
    let rules = resolved.workflow.rules.entries();
    let rule = creation.workflow_rule.map(|at| &rules[at]);
    if let Some(rule) = rule {
        creation.workflow_variables = Arc::new(rule.variables.clone());
    }
    creation.auto_cancel = workflow::auto_cancel(&resolved.workflow, rule);

    let of_rule = Arc::clone(&creation.workflow_variables);
    let layers = Layers::new(context, &predefined, &global, &of_rule);
    let mut problems = Vec::new();
    creation.jobs = jobs(resolved, &conditions, &layers, &mut problems);
    let mut keys = CacheKeys::new(repository);
    for job in creation.jobs.iter_mut().filter(|job| job.is_included) {
        if let Err(problem) = keys.resolve(&mut job.definition) {
            let span = job.resolved.span;
            problems.push(Diagnostic { span, ..problem });
        }
    }
    for job in &mut creation.jobs {
        job.expand_names(&layers);
    }
    if creation.refusal.is_none() {
        let locations = Locations {
            tree: resolved.tree.as_deref(),
            workflow_rule: rule,
        };
        creation.refusal = refusal(&creation, &conditions, &layers, &locations, problems);
    }
    match workflow::name(&resolved.workflow, &layers.of_pipeline()) {
        Ok(name) => {
            creation.name = name.full;
            creation.shown_name = name.shown;
        }
        Err(problem) if creation.refusal.is_none() => {
            creation.refusal = Some(Refusal::new(RefusalReason::SeedError, problem));
        }
        Err(_) => {}
    }
    creation
}

/// Decides job by job; a job whose conditions cannot be evaluated is excluded and reported.
fn jobs(
    resolved: &ResolvedPipeline,
    conditions: &Conditions<'_>,
    layers: &Layers<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<CreatedJob> {
    let decide = |resolved| {
        job::decide(resolved, conditions, layers).unwrap_or_else(|problem| {
            problems.push(problem);
            CreatedJob {
                definition: Arc::clone(&resolved.definition),
                shown: Arc::clone(&resolved.definition),
                resolved: resolved.clone(),
                is_included: false,
                rule: None,
            }
        })
    };
    resolved.jobs.iter().map(decide).collect()
}

/// Returns why the pipeline is refused although the workflow permits it.
fn refusal(
    creation: &Creation,
    conditions: &Conditions<'_>,
    layers: &Layers<'_>,
    locations: &Locations<'_>,
    mut problems: Vec<Diagnostic>,
) -> Option<Refusal> {
    checks::check_needs(&creation.jobs, conditions, layers, locations, &mut problems);
    checks::check_variables(&creation.jobs, layers, locations, &mut problems);
    if !problems.is_empty() {
        let reason = RefusalReason::SeedError;
        return Some(Refusal { reason, problems });
    }
    let mut included = creation
        .jobs
        .iter()
        .filter(|job| job.is_included)
        .peekable();
    let message = if included.peek().is_none() {
        "there is no pipeline: it would have no jobs"
    } else if included.all(is_edge) {
        "there is no pipeline: it would have only jobs in `.pre` and `.post`"
    } else {
        return None;
    };
    let problem = Diagnostic {
        related: left_out::of_jobs(&creation.jobs, conditions, layers),
        ..Diagnostic::warning("no-pipeline", message)
    };
    Some(Refusal::new(RefusalReason::NoJobs, problem))
}

fn is_edge(job: &CreatedJob) -> bool {
    let stage = &job.definition.stage;
    stage == FIRST_STAGE || stage == LAST_STAGE
}

impl Creation {
    /// Returns the variables visible to a job; `layers` are those all jobs share.
    pub fn job_layers<'l>(job: &'l CreatedJob, layers: &'l Layers<'_>) -> JobLayers<'l> {
        let inherited = &job.resolved.inherited_variables;
        layers.of_job(&job.definition, inherited, job.rule_variables())
    }
}
