//! Cases of settings and jobs, each with a part of the objects that follow, or with the refusal.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a case is written with values"
)]

mod container;
mod overwrite;
mod patch;
mod pod;
mod security;

use super::{Request, objects};
use crate::config::KubernetesConfig;
use executor_core::job::Job;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Returns `pod`, `secret`, `policies` and `warnings` for settings and a change of a job with the image `i`, or the refusal.
fn made(settings: &Value, change: &Value, pulls: &[(&str, usize)]) -> Result<Value, String> {
    let config = serde_json::from_value(settings.clone());
    let config: KubernetesConfig = config.map_err(|error| error.to_string())?;
    let mut job = json!({ "id": 7, "image": { "name": "i" } });
    json_patch::merge(&mut job, change);
    let login = job.get("login").and_then(Value::as_str).map(str::to_owned);
    let job: Job = serde_json::from_value(job).unwrap();
    let pulls: BTreeMap<_, _> = pulls
        .iter()
        .map(|(name, at)| ((*name).to_owned(), *at))
        .collect();
    let objects = objects(&Request {
        name: "p",
        owner: "o",
        job: &job,
        variables: &job.variables.iter().cloned().collect(),
        config: &config,
        builds_dir: "/builds",
        cache_dir: "/cache",
        start: "true",
        login: login.as_deref(),
        pulls: &pulls,
    });
    let objects = objects.map_err(|error| error.to_string())?;
    Ok(json!({
        "pod": objects.pod,
        "secret": objects.secret,
        "policies": objects.policies,
        "warnings": objects.warnings,
    }))
}

/// Checks the value at a pointer. `spec`, `build` and `svc-N` stand for the specification and for containers there; null means that
/// there is nothing.
#[track_caller]
fn check(settings: Value, change: Value, pointer: &str, expected: Value) {
    let made = made(&settings, &change, &[]);
    let made = made.unwrap_or_else(|error| panic!("{settings} {change}: {error}"));
    assert_eq!(
        at(&made, pointer),
        expected,
        "{settings} {change} {pointer}"
    );
}

fn at(made: &Value, pointer: &str) -> Value {
    let (first, rest) = pointer.split_once('/').unwrap_or((pointer, ""));
    let first = match first {
        "spec" => "pod/spec".to_owned(),
        "build" => "pod/spec/containers/0".to_owned(),
        _ => first.replace("svc-", "pod/spec/initContainers/"),
    };
    let pointer = format!("/{first}/{rest}");
    let value = made.pointer(pointer.trim_end_matches('/'));
    value.cloned().unwrap_or_default()
}

/// Checks that a job is refused, and a part of the reason.
#[track_caller]
fn refuse(settings: Value, change: Value, part: &str) {
    match made(&settings, &change, &[]) {
        Ok(_) => panic!("{settings} {change} is not refused"),
        Err(error) => assert!(error.contains(part), "{error}"),
    }
}

/// Returns a job with these public variables.
fn variables(all: &[(&str, &str)]) -> Value {
    json!({ "variables": list(all) })
}

fn list(all: &[(&str, &str)]) -> Value {
    let one = |(key, value): &(&str, &str)| json!({ "key": key, "value": value, "public": true });
    all.iter().map(one).collect()
}

fn none() -> Value {
    json!({})
}
