//! Payloads of other versions of GitLab.

use executor_core::Job;
use executor_core::job::{ArtifactFormat, ArtifactWhen, HookName, RefType, StepWhen};
use serde_json::{Value, json};

/// A payload in which every field says something else than its default.
fn payload() -> Value {
    json!({
        "id": 7,
        "token": "t0ken",
        "allow_git_fetch": true,
        "job_info": {
            "name": "test 1/2", "stage": "test", "pipeline_id": 4, "project_id": 5,
            "project_name": "app", "project_full_path": "group/app", "namespace_id": 6,
            "root_namespace_id": 8, "organization_id": 9, "instance_id": "i", "instance_uuid": "u",
            "user_id": 10, "scoped_user_id": 11, "time_in_queue_seconds": 1.5,
            "project_jobs_running_on_instance_runners_count": "+Inf", "queue_size": 12,
            "queue_depth": 13
        },
        "git_info": {
            "repo_url": "https://git.example/group/app.git", "repo_object_format": "sha256",
            "ref": "v1", "sha": "abc", "before_sha": "def", "ref_type": "tag",
            "refspecs": ["+refs/tags/v1:refs/tags/v1"], "depth": 20, "protected": true
        },
        "runner_info": {"uuid": "r", "timeout": 3600},
        "inputs": [{"key": "k", "value": {"type": "string", "content": "c", "sensitive": true}}],
        "variables": [{
            "key": "A", "value": "a", "public": true, "file": true, "masked": true, "raw": true
        }],
        "steps": [{
            "name": "script", "script": ["make"], "timeout": 60, "when": "always",
            "allow_failure": true
        }],
        "image": image(),
        "services": [image()],
        "artifacts": [{
            "name": "n", "untracked": true, "paths": ["p"], "exclude": ["x"], "when": "always",
            "artifact_type": "junit", "artifact_format": "gzip", "expire_in": "1 day"
        }],
        "cache": [{
            "key": "k", "untracked": true, "policy": "pull", "paths": ["p"], "when": "on_failure",
            "fallback_keys": ["f"]
        }],
        "credentials": [{
            "type": "registry", "url": "registry.example", "username": "u", "password": "p"
        }],
        "dependencies": [{
            "id": 3, "token": "t", "name": "build",
            "artifacts_file": {"filename": "a.zip", "size": 9}
        }],
        "features": {
            "trace_sections": true, "token_mask_prefixes": ["glpat-"],
            "failure_reasons": ["unknown_failure"],
            "tracing": {"trace_id": "t", "span_parent_id": "s", "otel_endpoints": [{"url": "o"}]}
        },
        "secrets": {"S": {"vault": {"path": "p"}}},
        "hooks": [{"name": "post_get_sources_script", "script": ["date"]}],
        "run": "[]",
        "policy_options": {
            "execution_policy_job": true, "policy_name": "p",
            "policy_variables_override_allowed": true,
            "policy_variables_override_exceptions": ["E"]
        },
        "suspend_options": {
            "suspend_on_success": true, "suspend_on_failure": true,
            "runtime_environment_key": "r"
        }
    })
}

fn image() -> Value {
    json!({
        "name": "alpine", "alias": "db", "command": ["c"], "entrypoint": ["e"],
        "ports": [{"number": 80, "protocol": "http", "name": "web"}],
        "variables": [{
            "key": "V", "value": "v", "public": true, "file": true, "masked": true, "raw": true
        }],
        "pull_policy": ["always"],
        "executor_opts": {"docker": {"user": "1"}, "kubernetes": {"user": "2"}},
        "docker": {"user": "3"}, "kubernetes": {"user": "4"}
    })
}

fn read(payload: &Value) -> Job {
    serde_json::from_value(payload.clone()).unwrap_or_else(|error| panic!("{error}: {payload}"))
}

/// Adds the JSON pointers of all fields of `value`; what has no type of its own is one field.
fn add_fields(value: &Value, at: &str, fields: &mut Vec<String>) {
    const FREE: [&str; 5] = [
        "secrets",
        "content",
        "docker",
        "kubernetes",
        "otel_endpoints",
    ];
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let at = format!("{at}/{key}");
                if !FREE.contains(&key.as_str()) {
                    add_fields(value, &at, fields);
                }
                fields.push(at);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add_fields(item, &format!("{at}/{index}"), fields);
            }
        }
        _ => {}
    }
}

#[test]
fn every_field_survives_the_way_there_and_back() {
    let payload = payload();
    assert_eq!(serde_json::to_value(read(&payload)).unwrap(), payload);
}

#[test]
fn null_is_the_same_as_nothing_in_every_field() {
    let whole = payload();
    let mut fields = Vec::new();
    add_fields(&whole, "", &mut fields);
    assert!(fields.len() > 100, "{fields:?}");
    for field in fields {
        let mut with_null = whole.clone();
        with_null.pointer_mut(&field).unwrap().take();
        let mut without = whole.clone();
        let (parent, name) = field.rsplit_once('/').unwrap();
        let parent = without.pointer_mut(parent).unwrap();
        parent.as_object_mut().unwrap().shift_remove(name);
        let job = read(&with_null);
        assert_eq!(job, read(&without), "of {field}");
        assert_ne!(job, read(&whole), "{field} is not read at all");
    }
}

#[test]
fn unknown_words_do_not_reject_a_job() {
    let mut payload = payload();
    for field in [
        "/git_info/ref_type",
        "/steps/0/when",
        "/artifacts/0/when",
        "/artifacts/0/artifact_format",
        "/cache/0/when",
        "/hooks/0/name",
    ] {
        *payload.pointer_mut(field).unwrap() = json!("of_tomorrow");
    }
    let known = json!({"name": "pre_get_sources_script", "script": ["id"]});
    payload["hooks"].as_array_mut().unwrap().push(known);
    payload["a_field_of_tomorrow"] = json!([1]);
    payload["artifacts"][0]["artifact_type"] = json!("report_of_tomorrow");
    let job = read(&payload);
    assert_eq!(job.git_info.ref_type, RefType::Branch);
    assert_eq!(job.steps[0].when, StepWhen::OnSuccess);
    assert_eq!(job.artifacts[0].when, ArtifactWhen::OnSuccess);
    assert_eq!(job.artifacts[0].artifact_format, ArtifactFormat::Zip);
    assert_eq!(job.artifacts[0].artifact_type, "report_of_tomorrow");
    assert_eq!(job.cache[0].when, ArtifactWhen::OnSuccess);
    let hooks: Vec<HookName> = job.hooks.iter().map(|hook| hook.name).collect();
    assert_eq!(hooks, [HookName::PreGetSources]);
}

#[test]
fn a_count_may_be_a_number_or_a_text() {
    let check = |count: Value, expect: &str| {
        let job = read(&json!({
            "job_info": {"project_jobs_running_on_instance_runners_count": count}
        }));
        let info = job.job_info;
        assert_eq!(info.project_jobs_running_on_instance_runners_count, expect);
    };
    check(json!(3), "3");
    check(json!("+Inf"), "+Inf");
    check(Value::Null, "");
}
