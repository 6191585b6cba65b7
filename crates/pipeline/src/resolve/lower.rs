use super::expand::Expansion;
use crate::config::{AllowFailure, Config, Inheritable, Job, JobKind};
use executor_core::job::{
    ArtifactsDefinition, JobDefinition, PagesDefinition, SchedulingKind, When,
};
use std::collections::HashMap;

/// The default directory of pages.
const PAGES_DIRECTORY: &str = "public";
/// The stage of a job without `stage`.
pub(super) const DEFAULT_STAGE: &str = "test";

/// Returns the definition of a job under its name in the file, with defaults applied, but without
/// needs and without the parts that only a normalized job has.
pub(super) fn lower(job: &Job, config: &Config, expansion: &Expansion<'_>) -> JobDefinition {
    let keywords = inherited_keywords(job, &config.default);
    let when = job.when.unwrap_or_default();
    let (allow_failure, exit_codes) = allow_failure(job.allow_failure.as_ref(), when);
    let kept = job.kept.clone();
    JobDefinition {
        name: job.name.to_string(),
        stage: stage(job).to_owned(),
        when,
        allow_failure,
        allow_failure_exit_codes: exit_codes,
        script: job.script.clone(),
        before_script: keywords.before_script,
        after_script: keywords.after_script,
        image: keywords.image,
        services: keywords.services,
        artifacts: with_pages(keywords.artifacts, job),
        retry: keywords.retry,
        release: kept.release,
        dependencies: job.dependencies.as_ref().map(|names| {
            let names = names.iter();
            names
                .flat_map(|name| expansion.expand(&name.value))
                .map(ToOwned::to_owned)
                .collect()
        }),
        start_in: job.start_in.clone(),
        hooks: keywords.hooks,
        environment: kept.environment.map(|given| Box::new(given.definition)),
        pages: kept.pages,
        timeout_seconds: keywords.timeout,
        cache: keywords.cache,
        scheduling: scheduling(job),
        tags: keywords.tags,
        coverage: kept.coverage,
        interruptible: keywords.interruptible,
        resource_group: kept.resource_group,
        id_tokens: keywords.id_tokens,
        identity: keywords.identity,
        inputs: kept.inputs,
        secrets: kept.secrets,
        run: kept.run,
        trigger: job
            .trigger
            .as_ref()
            .map(|trigger| Box::new(trigger.written.clone())),
        job_variables: Some(job.variables.clone()),
        ..JobDefinition::default()
    }
}

/// A trigger job runs nothing, so it inherits only `interruptible`; a job with steps has no script
/// to put others around.
fn inherited_keywords(job: &Job, default: &Inheritable) -> Inheritable {
    let inherited = &job.inherit.default;
    let keywords = job.inheritable.clone();
    keywords.or_default(default, |key| {
        let matches = match key {
            "interruptible" => true,
            "before_script" | "after_script" => {
                job.kind != JobKind::Trigger && job.kept.run.is_none()
            }
            _ => job.kind != JobKind::Trigger,
        };
        matches && inherited.includes(key)
    })
}

/// A job that only mirrors a pipeline waits for its stage although it has `needs`.
fn scheduling(job: &Job) -> SchedulingKind {
    if job.needs.is_some() && job.mirrored_pipeline().is_none() {
        SchedulingKind::Dag
    } else {
        SchedulingKind::Stage
    }
}

/// Returns the stage of a job.
pub(super) fn stage(job: &Job) -> &str {
    job.stage
        .as_ref()
        .map_or(DEFAULT_STAGE, |stage| &stage.value)
}

/// A manual job may fail by default; with exit codes, only those are allowed.
fn allow_failure(given: Option<&AllowFailure>, when: When) -> (bool, Option<Vec<i32>>) {
    match given {
        None => (when == When::Manual, None),
        Some(AllowFailure::Flag(flag)) => (*flag, None),
        Some(AllowFailure::ExitCodes(codes)) => (false, Some(codes.clone())),
    }
}

/// Adds the directory of published pages to the artifacts.
fn with_pages(
    artifacts: Option<Box<ArtifactsDefinition>>,
    job: &Job,
) -> Option<Box<ArtifactsDefinition>> {
    if !job.publishes_pages() {
        return artifacts;
    }
    let pages = job.kept.pages.as_deref();
    let directory = pages
        .and_then(PagesDefinition::publish)
        .or(job.kept.publish.as_deref())
        .unwrap_or(PAGES_DIRECTORY);
    let mut artifacts = artifacts.unwrap_or_default();
    let paths = artifacts.paths.get_or_insert_default();
    if !paths.iter().any(|path| path == directory) {
        paths.push(directory.to_owned());
    }
    Some(artifacts)
}

/// Returns the indices of stages by name; the first of a name counts.
pub(super) fn stage_indices(stages: &[String]) -> HashMap<&str, usize> {
    let indexed = stages.iter().enumerate().rev();
    indexed
        .map(|(index, name)| (name.as_str(), index))
        .collect()
}
