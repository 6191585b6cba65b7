//! The labels and annotations of a pod.

use super::draft::{Request, refused};
use super::{JOB, OWNER, PATIENCE};
use crate::error::KubernetesError;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;

/// The longest name in a key, and the longest value of a label.
const LONGEST: usize = 63;

/// Returns the metadata of a job's pod, with labels and annotations of settings and job, and with ours, which win.
pub(super) fn metadata(
    request: &Request<'_>,
    mut labels: BTreeMap<String, String>,
    mut annotations: BTreeMap<String, String>,
) -> ObjectMeta {
    let job = request.job;
    let project = &job.job_info.project_full_path;
    let ref_name = &job.git_info.ref_name;
    let project_id = match job.job_info.project_id {
        0 => String::new(),
        id => id.to_string(),
    };
    let ours = [
        ("app.kubernetes.io/managed-by", "runwright".to_owned()),
        (OWNER, request.owner.to_owned()),
        (JOB, job.id.to_string()),
        ("runwright.dev/project-id", project_id),
        ("runwright.dev/project", label_value(project)),
        ("runwright.dev/ref", label_value(ref_name)),
    ];
    // The whole texts, which a label cannot have.
    let texts = [
        ("runwright.dev/job-name", &job.job_info.name),
        ("runwright.dev/project", project),
        ("runwright.dev/ref", ref_name),
        ("runwright.dev/sha", &job.git_info.sha),
    ];
    let texts = texts.map(|(key, value)| (key, value.clone()));
    let known = |all: &mut BTreeMap<String, String>, entries: &[(&str, String)]| {
        let entries = entries.iter().filter(|(_, value)| !value.is_empty());
        all.extend(entries.map(|(key, value)| ((*key).to_owned(), value.clone())));
    };
    known(&mut labels, &ours);
    known(&mut annotations, &texts);
    let patience = request.config.patience().as_secs();
    annotations.insert(PATIENCE.to_owned(), patience.to_string());
    ObjectMeta {
        name: Some(request.name.to_owned()),
        labels: Some(labels),
        annotations: Some(annotations),
        ..ObjectMeta::default()
    }
}

/// Returns whether a key belongs to the runner, so that a job cannot set it.
pub(super) fn is_reserved(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    ["runwright.dev", "runner.gitlab.com"].iter().any(|ours| {
        let above = domain.strip_suffix(ours);
        above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
    })
}

/// Returns the nearest text that a label can have as its value.
pub(super) fn label_value(text: &str) -> String {
    let letters = text.chars().map(|it| if is_inner(it) { it } else { '_' });
    let letters: String = letters.take(LONGEST).collect();
    let is_edge = |it: char| !it.is_ascii_alphanumeric();
    letters.trim_matches(is_edge).to_owned()
}

/// Checks the key of a label or annotation: `name`, or `domain/name`.
pub(super) fn check_key(key: &str) -> Result<(), KubernetesError> {
    let split = key.split_once('/');
    let (is_valid, name) = split.map_or((true, key), |(domain, name)| (is_dns_name(domain), name));
    if is_valid && !name.is_empty() && label_value(name) == name {
        return Ok(());
    }
    Err(refused(format!(
        "invalid key {key:?}: expected letters and digits, with - _ . between them, as in example.com/name"
    )))
}

/// Checks a label.
pub(super) fn check_label(key: &str, value: &str) -> Result<(), KubernetesError> {
    check_key(key)?;
    if label_value(value) == value {
        return Ok(());
    }
    Err(refused(format!(
        "invalid value {value:?} of the label {key}: expected up to {LONGEST} letters and digits, with - _ . between them"
    )))
}

/// Returns whether a text is the name of an object of Kubernetes: labels of lowercase letters, digits and `-`, with dots between them.
pub(super) fn is_dns_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// Returns whether a text is a name without dots, such as that of a namespace.
pub(super) fn is_dns_label(text: &str) -> bool {
    let fits = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
    let is_edge = |it: &str| it.starts_with('-') || it.ends_with('-');
    (1..=LONGEST).contains(&text.len()) && text.chars().all(fits) && !is_edge(text)
}

fn is_inner(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}
