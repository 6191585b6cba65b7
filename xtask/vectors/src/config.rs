//! The kind `config`: a file with all that it includes, and what it means before anything runs.

use super::files::FilesInput;
use super::variables::VariablesInput;
use executor_core::job::JobDefinition;
use indexmap::IndexMap;
use pipeline::resolve::written;
use pipeline::{LoadOptions, Pipeline, ResolvedPipeline};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use yaml::diagnostic::{Checked, Diagnostic, Diagnostics, Severity};

/// The name of the file in messages.
pub(super) const NAME: &str = ".gitlab-ci.yml";

/// The error about a file that lies elsewhere.
const NOT_FETCHED: &str = "include-not-fetched";

/// The warnings that GitLab gives too.
const GITLAB_WARNINGS: [&str; 1] = ["duplicate-pipelines"];

#[derive(Deserialize)]
pub(super) struct Input {
    yaml: String,
    #[serde(default)]
    inputs: IndexMap<String, Value>,
    #[serde(default)]
    variables: VariablesInput,
    #[serde(flatten)]
    files: FilesInput,
}

pub(super) fn result(input: Input) -> Value {
    let Checked { value, diagnostics } = load(input);
    // A vector cannot say what lies elsewhere; that nothing was fetched is no fault of its file.
    let is_fault = |error: &Diagnostic| error.code != NOT_FETCHED;
    match value {
        Some(resolved) if !diagnostics.errors().any(is_fault) => accepted(&resolved, &diagnostics),
        _ => json!({
            "valid": false,
            "errors": diagnostics.records(Severity::Error),
            "warnings": gitlab_warnings(&diagnostics),
        }),
    }
}

pub(super) fn diagnose(input: Input) -> Diagnostics {
    load(input).diagnostics
}

fn load(input: Input) -> Checked<ResolvedPipeline> {
    let repository = input.files.repository(None);
    let options = LoadOptions {
        inputs: input.inputs,
        variables: input.variables.variables().into_iter().collect(),
        includes: &input.files.includes(),
        repository: &repository,
        ..LoadOptions::default()
    };
    Pipeline::load(NAME, &input.yaml, &options)
        .and_then(|pipeline, diagnostics| Some(pipeline.resolve(diagnostics)))
}

fn accepted(resolved: &ResolvedPipeline, found: &Diagnostics) -> Value {
    let jobs = resolved.jobs.iter().map(|job| resolved.normalized(job));
    let jobs: Vec<JobDefinition> = jobs.collect();
    let by_name = |job: &JobDefinition| (job.name.clone(), json!(job));
    json!({
        "valid": true,
        "stages": resolved.stages,
        "variables": resolved.variables,
        "job_names": jobs.iter().map(|job| &job.name).collect::<Vec<_>>(),
        "jobs": jobs.iter().map(by_name).collect::<Map<_, _>>(),
        "workflow_name": resolved.workflow.name.as_ref().map(|name| &name.value),
        "workflow_rules": written::rules(resolved.workflow.rules.entries(), &[]),
        "warnings": gitlab_warnings(found),
    })
}

fn gitlab_warnings(found: &Diagnostics) -> usize {
    let warnings = found.warnings();
    warnings
        .filter(|warning| GITLAB_WARNINGS.contains(&warning.code))
        .count()
}
