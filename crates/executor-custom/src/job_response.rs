//! The job as JSON for the driver: `JOB_RESPONSE_FILE`.

use executor_core::Job;
use serde_json::{Map, Value, json};

/// The options of a policy that are there even without a policy.
const ALWAYS_THERE: [&str; 2] = ["execution_policy_job", "policy_name"];

/// Returns the job as GitLab Runner writes it out for drivers.
///
/// That is not the server's payload but the runner's view of it: unknown fields are gone, empty lists are absent, and
/// defaults are there.
pub(crate) fn job_response(job: &Job) -> Vec<u8> {
    let mut value = serde_json::to_value(job).unwrap_or_default();
    if let Value::Object(job) = &mut value {
        for key in ["hooks", "secrets", "run"] {
            job.retain(|name, value| name != key || !is_empty(value));
        }
        if let Some(inputs) = job.get_mut("inputs")
            && is_empty(inputs)
        {
            *inputs = json!({});
        }
        for options in ["policy_options", "suspend_options"] {
            if let Some(Value::Object(options)) = job.get_mut(options) {
                let is_set = |name: &str, value: &Value| {
                    ALWAYS_THERE.contains(&name) || !(is_empty(value) || value == &json!(false))
                };
                options.retain(|name, value| is_set(name, value));
            }
        }
        if let Some(Value::Object(image)) = job.get_mut("image") {
            complete(image);
        }
        if let Some(Value::Array(services)) = job.get_mut("services") {
            services
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(complete);
        }
    }
    serde_json::to_vec(&value).unwrap_or_default()
}

/// Adds the options of an image that are always there.
fn complete(image: &mut Map<String, Value>) {
    let options = image.entry("executor_opts").or_insert_with(|| json!({}));
    let Value::Object(options) = options else {
        return;
    };
    let of_executors: [(&str, &[&str]); 2] =
        [("docker", &["platform", "user"]), ("kubernetes", &["user"])];
    for (executor, keys) in of_executors {
        let own = options.entry(executor).or_insert_with(|| json!({}));
        if let Value::Object(own) = own {
            for key in keys {
                own.entry(*key).or_insert_with(|| json!(""));
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
