use super::expand::Expansion;
use crate::config::{AllowFailure, Config, Inherited, Job, NeedEntry, Variables};
use executor_core::job::{
    ArtifactsDefinition, JobDefinition, Need, PagesDefinition, SchedulingKind, When,
};
use indexmap::IndexMap;
use serde_json::json;

/// Where pages are published from when the job does not say.
const PAGES_DIRECTORY: &str = "public";
/// The stage of a job that names none.
pub(super) const DEFAULT_STAGE: &str = "test";

/// Returns the definition of a job under the name it has in the file, defaults applied.
pub(super) fn lower(job: &Job, config: &Config, expansion: &Expansion<'_>) -> JobDefinition {
    let inherited = &job.inherit.default;
    let keywords = job.inheritable.clone();
    let keywords = keywords.or_default(&config.default, |key| inherited.includes(key));
    let when = job.when.unwrap_or_default();
    let (allow_failure, exit_codes) = allow_failure(job.allow_failure.as_ref(), when);
    let (needs, needs_cross) = needs(job, expansion);
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
                .collect()
        }),
        start_in: job.start_in.clone(),
        hooks: keywords.hooks,
        environment: kept.environment.map(|given| Box::new(given.definition)),
        pages: kept.pages,
        timeout_seconds: keywords.timeout,
        cache: keywords.cache,
        scheduling: if job.needs.is_some() {
            SchedulingKind::Dag
        } else {
            SchedulingKind::Stage
        },
        needs,
        needs_cross,
        tags: keywords.tags,
        coverage: kept.coverage,
        only: Some(Box::new(json!({"refs": ["branches", "tags"]}))),
        interruptible: keywords.interruptible,
        resource_group: kept.resource_group,
        id_tokens: keywords.id_tokens,
        identity: keywords.identity,
        inputs: kept.inputs,
        secrets: kept.secrets,
        run: kept.run,
        job_variables: Some(job.variables.clone()),
        variables: merged(&config.variables, &job.inherit.variables, &job.variables),
        ..JobDefinition::default()
    }
}

pub(super) fn stage(job: &Job) -> &str {
    job.stage
        .as_ref()
        .map_or(DEFAULT_STAGE, |stage| &stage.value)
}

/// A manual job may fail unless it says otherwise; with exit codes, only those are forgiven.
fn allow_failure(given: Option<&AllowFailure>, when: When) -> (bool, Option<Vec<i32>>) {
    match given {
        None => (when == When::Manual, None),
        Some(AllowFailure::Flag(flag)) => (*flag, None),
        Some(AllowFailure::ExitCodes(codes)) => (false, Some(codes.clone())),
    }
}

fn needs(
    job: &Job,
    expansion: &Expansion<'_>,
) -> (
    Option<Vec<Need>>,
    Option<Vec<executor_core::job::CrossNeed>>,
) {
    let Some(entries) = &job.needs else {
        return (None, None);
    };
    let mut needs = Vec::with_capacity(entries.len());
    let mut cross = Vec::new();
    for entry in entries {
        match &entry.value {
            NeedEntry::Cross(need) => cross.push(need.clone()),
            NeedEntry::Mirror(_) => {}
            NeedEntry::Job(need) => {
                let instances = expansion.expand(&need.need.job).into_iter();
                needs.extend(instances.map(|job| Need {
                    job,
                    ..need.need.clone()
                }));
            }
        }
    }
    (Some(needs), (!cross.is_empty()).then_some(cross))
}

/// Returns the global variables the job inherits, with its own on top.
fn merged(global: &Variables, inherited: &Inherited, own: &Variables) -> IndexMap<String, String> {
    let global = global.iter().filter(|(name, _)| inherited.includes(name));
    global
        .chain(own)
        .map(|(name, definition)| (name.clone(), definition.value().to_owned()))
        .collect()
}

/// A job that publishes pages keeps their directory as an artifact.
fn with_pages(
    artifacts: Option<Box<ArtifactsDefinition>>,
    job: &Job,
) -> Option<Box<ArtifactsDefinition>> {
    let pages = job.kept.pages.as_deref();
    let publishes = match pages {
        Some(pages) => pages.is_enabled(),
        None => &*job.name == "pages",
    };
    if !publishes {
        return artifacts;
    }
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
