use crate::lint::or_default;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A job as the CI lint describes it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LintJob {
    /// The name; each instance of a `parallel` job is listed.
    pub name: String,
    /// The stage.
    #[serde(deserialize_with = "or_default")]
    pub stage: String,
    /// The lines of `before_script`, with those of `default`.
    #[serde(deserialize_with = "lines")]
    pub before_script: Vec<String>,
    /// The lines of `script`.
    #[serde(deserialize_with = "lines")]
    pub script: Vec<String>,
    /// The lines of `after_script`.
    #[serde(deserialize_with = "lines")]
    pub after_script: Vec<String>,
    /// The tags that its runner must have.
    #[serde(deserialize_with = "lines")]
    pub tag_list: Vec<String>,
    /// `only`, as GitLab reports it.
    pub only: Option<Value>,
    /// `except`, as GitLab reports it.
    pub except: Option<Value>,
    /// The name of the environment.
    #[serde(deserialize_with = "environment")]
    pub environment: Option<String>,
    /// `when`.
    pub when: Option<String>,
    /// Whether the job may fail; GitLab does not report its `exit_codes`.
    #[serde(deserialize_with = "or_default")]
    pub allow_failure: bool,
    /// The jobs it needs; `None` means all jobs of earlier stages.
    #[serde(deserialize_with = "needs")]
    pub needs: Option<Vec<LintNeed>>,
}

/// A job that another needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintNeed {
    /// Its name.
    pub name: String,
    /// Whether its artifacts are downloaded.
    pub artifacts: bool,
    /// Whether the job may be missing.
    pub optional: bool,
}

/// Reads lines from a text, a list, nested lists, or `null`.
fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let mut lines = Vec::new();
    // The recursion is bounded: the JSON parser limits the depth of a value.
    add(&Value::deserialize(deserializer)?, &mut lines);
    Ok(lines)
}

fn add(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Array(list) => list.iter().for_each(|one| add(one, lines)),
        Value::String(text) => lines.push(text.clone()),
        other => lines.push(other.to_string()),
    }
}

/// Reads the name of an environment, given as a text or an object.
fn environment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let name = value.get("name").unwrap_or(&value);
    Ok(name.as_str().map(str::to_owned))
}

/// Reads needs: none, a list, or lists by kind; each need is a name or an object.
fn needs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<LintNeed>>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let list = match &value {
        Value::Object(kinds) => kinds.get("job").and_then(Value::as_array),
        other => other.as_array(),
    };
    Ok(list.map(|list| list.iter().filter_map(need).collect()))
}

fn need(value: &Value) -> Option<LintNeed> {
    let flag = |key, absent| value.get(key).and_then(Value::as_bool).unwrap_or(absent);
    let name = [value.get("name"), value.get("job"), Some(value)];
    Some(LintNeed {
        name: name
            .into_iter()
            .flatten()
            .find_map(Value::as_str)?
            .to_owned(),
        artifacts: flag("artifacts", true),
        optional: flag("optional", false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(job: Value) -> LintJob {
        serde_json::from_value(job).expect("a job")
    }

    #[test]
    fn jobs_are_read_as_gitlab_reports_them() {
        let job = read(json!({
            "name": "test_job", "stage": "test", "before_script": ["a", "b"], "script": ["c"],
            "after_script": [], "tag_list": ["linux"], "only": {"refs": ["branches", "tags"]},
            "except": null, "environment": "prod", "when": "on_success", "allow_failure": false,
            "needs": [{"name": "build", "artifacts": false, "optional": true}], "later": 1,
        }));
        assert_eq!(job.before_script, ["a", "b"]);
        assert_eq!(job.tag_list, ["linux"]);
        assert_eq!(job.only, Some(json!({"refs": ["branches", "tags"]})));
        assert_eq!(job.except, None);
        assert_eq!(job.environment.as_deref(), Some("prod"));
        let need = LintNeed {
            name: "build".to_owned(),
            artifacts: false,
            optional: true,
        };
        assert_eq!(job.needs, Some(vec![need]));
    }

    #[test]
    fn needs_of_all_versions_are_read() {
        let check = |needs: Value, expect: Option<&[&str]>| {
            let job = read(json!({"name": "a", "needs": needs}));
            let names = job.needs.as_ref();
            let names = names.map(|list| list.iter().map(|it| &*it.name).collect::<Vec<_>>());
            assert_eq!(names.as_deref(), expect, "{needs}");
        };
        check(json!(null), None);
        check(json!([]), Some(&[]));
        check(
            json!([{"name": "b"}, "c", {"job": "d"}, 5]),
            Some(&["b", "c", "d"]),
        );
        check(json!({"job": [{"name": "b"}]}), Some(&["b"]));
        assert_eq!(read(json!({"name": "a"})).needs, None);
    }

    #[test]
    fn null_fields_are_read_as_empty() {
        let job = read(json!({
            "name": "a", "stage": null, "script": null, "tag_list": null, "allow_failure": null,
            "environment": {"name": "prod", "action": "stop"}, "when": null,
            "before_script": "one", "after_script": ["a", ["b", [1]]],
        }));
        assert_eq!(job.script, Vec::<String>::new());
        assert_eq!(job.before_script, ["one"]);
        assert_eq!(job.after_script, ["a", "b", "1"]);
        assert_eq!(job.environment.as_deref(), Some("prod"));
        assert!(!job.allow_failure);
    }
}
