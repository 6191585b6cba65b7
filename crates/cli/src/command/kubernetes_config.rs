//! The cluster of `--executor kubernetes`, from settings and options.

use crate::args::DockerArgs;
use crate::failure::Failure;
use anyhow::anyhow;
use console::strip_controls;
use executor_kubernetes::KubernetesConfig;
use serde_json::{Map, Value, json};
use workstation::Settings;

/// Returns the configuration of jobs in a cluster.
pub(super) fn kubernetes_config(
    settings: &Settings,
    options: &DockerArgs,
) -> Result<KubernetesConfig, Failure> {
    let mut said = Map::new();
    for (key, value) in settings.section("kubernetes") {
        let mut value = serde_json::to_value(value).map_err(Failure::usage)?;
        match key {
            "node-selector" => value = labels(&value)?,
            // Else Kubernetes refuses an image whose user is root.
            "run-as-user" if value == "image" => {
                let context = json!({ "run_as_non_root": false });
                said.insert("pod_security_context".to_owned(), context);
                continue;
            }
            "run-as-user" => value = number(&value)?,
            _ => {}
        }
        said.insert(key.replace('-', "_"), value);
    }
    let options = [
        ("image", &options.image),
        ("context", &options.context),
        ("namespace", &options.namespace),
    ]
    .map(|(key, value)| {
        let value = value.as_deref().filter(|it| !it.is_empty());
        (key, value.map(Value::from))
    })
    .into_iter()
    .chain([("pull_policy", policies(&options.pull_policy))]);
    for (key, value) in options.filter_map(|(key, value)| Some((key, value?))) {
        said.insert(key.to_owned(), value);
    }
    // The user wrote the jobs, or at least chose to run them, so every pull policy is allowed.
    let all = ["always", "if-not-present", "never"];
    said.insert("allowed_pull_policies".to_owned(), all.as_slice().into());
    serde_json::from_value(Value::Object(said))
        .map_err(|error| wrong(&strip_controls(&error.to_string())))
}

fn policies(given: &[String]) -> Option<Value> {
    (!given.is_empty()).then(|| given.into())
}

/// Returns the number of a user.
fn number(text: &Value) -> Result<Value, Failure> {
    let number = text.as_str().and_then(|it| it.parse::<u32>().ok());
    number.map(Value::from).ok_or_else(|| {
        wrong(&format!(
            "run-as-user: {text} is neither a number nor `image`"
        ))
    })
}

/// Returns labels written as `name=value`.
fn labels(texts: &Value) -> Result<Value, Failure> {
    let texts = texts.as_array().into_iter().flatten();
    let labels = texts.filter_map(Value::as_str).map(|text| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| wrong(&format!("node-selector: {text:?} is not `name=value`")))?;
        Ok((name.to_owned(), Value::from(value)))
    });
    let labels: Map<String, Value> = labels.collect::<Result<_, Failure>>()?;
    Ok(labels.into())
}

fn wrong(why: &str) -> Failure {
    Failure::usage(anyhow!("invalid settings of [kubernetes]: {why}"))
        .with_help("`runwright config show --origin` shows where they come from")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(text: &str, options: &DockerArgs) -> Result<KubernetesConfig, String> {
        let settings = Settings::parse(Path::new("c.toml"), text, None).expect("settings");
        kubernetes_config(&settings, options).map_err(|failure| failure.message())
    }

    #[test]
    fn options_replace_settings() {
        let text =
            "[kubernetes]\nnamespace = 'a'\nnode-selector = ['disk=fast']\npoll-timeout = 9\n";
        let mut options = DockerArgs::default();
        let config = read(text, &options).expect("a configuration");
        assert_eq!(config.namespace.as_deref(), Some("a"));
        assert_eq!(config.node_selector["disk"], "fast");
        assert_eq!(config.poll_timeout, Some(9));
        options.namespace = Some("b".to_owned());
        let config = read(text, &options).expect("a configuration");
        assert_eq!(config.namespace.as_deref(), Some("b"));
        let users = |text: &str| {
            let text = format!("[kubernetes]\nrun-as-user = '{text}'\n");
            read(&text, &DockerArgs::default())
        };
        assert_eq!(users("0").expect("a configuration").run_as_user, Some(0));
        let of_image = users("image").expect("a configuration");
        assert!(of_image.run_as_user.is_none() && of_image.pod_security_context.is_some());
        let of_settings = |text: &str| read(&format!("[kubernetes]\n{text}\n"), &options);
        for (refused, expected) in [
            (users("root"), "\"root\" is neither a number nor `image`"),
            (
                of_settings("node-selector = ['disk']"),
                "\"disk\" is not `name=value`",
            ),
        ] {
            let refused = refused.expect_err("refused");
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
