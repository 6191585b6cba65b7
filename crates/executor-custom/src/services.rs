//! The services of a job as JSON: `CUSTOM_ENV_CI_JOB_SERVICES`.

use executor_core::Job;
use executor_core::job::Image;
use executor_core::variable::{JobVariable, JobVariables};
use serde::Serialize;
use std::collections::BTreeMap;

/// One service. The order of the fields, and which may be absent, is GitLab Runner's.
#[derive(Debug, Serialize)]
struct Service<'a> {
    name: &'a str,
    alias: &'a str,
    entrypoint: Option<&'a [String]>,
    command: Option<&'a [String]>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, String>,
}

/// Returns the services as a JSON array; an empty text without services.
///
/// The variables of a service are expanded with those of the job and its own.
pub(crate) fn services(job: &Job, variables: &JobVariables) -> String {
    if job.services.is_empty() {
        return String::new();
    }
    let services: Vec<_> = job
        .services
        .iter()
        .map(|image| service(image, variables))
        .collect();
    serde_json::to_string(&services).unwrap_or_default()
}

fn service<'a>(image: &'a Image, of_job: &JobVariables) -> Service<'a> {
    let aliases = image.alias.as_deref().unwrap_or_default();
    let alias = aliases
        .split([',', ' '])
        .find(|alias| !alias.is_empty())
        .unwrap_or_default();
    let mut all = of_job.clone();
    all.extend(image.variables.iter().cloned());
    let expanded = all.expanded();
    let value_of = |variable: &JobVariable| {
        let value = expanded.get(&variable.key).unwrap_or_default();
        (variable.key.clone(), value.to_owned())
    };
    let list = |words: &'a Vec<String>| (!words.is_empty()).then_some(words.as_slice());
    Service {
        name: &image.name,
        alias,
        entrypoint: list(&image.entrypoint),
        command: list(&image.command),
        variables: image.variables.iter().map(value_of).collect(),
    }
}
