//! The cluster of `--executor kubernetes`, from settings and options.

use super::setting_error::refuse;
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
            "node-selector" => {
                value = labels(&value).map_err(|why| refused(settings, key, &why))?;
            }
            // Else Kubernetes refuses an image whose user is root.
            "run-as-user" if value == "image" => {
                let context = json!({ "run_as_non_root": false });
                said.insert("pod_security_context".to_owned(), context);
                continue;
            }
            "run-as-user" => value = number(&value).map_err(|why| refused(settings, key, &why))?,
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
    let config: KubernetesConfig = serde_json::from_value(Value::Object(said))
        .map_err(|error| wrong(&strip_controls(&error.to_string())))?;
    config.check().map_err(|invalid| {
        let key = invalid.key.replace('_', "-");
        let why = format!("is {:?}: expected {}", invalid.value, invalid.expected);
        refused(settings, &key, &why)
    })?;
    Ok(config)
}

/// Returns the error of a key.
fn refused(settings: &Settings, key: &str, why: &str) -> Failure {
    refuse(
        settings,
        ("kubernetes", None, key),
        &format!("`{key}` {why}"),
    )
}

fn policies(given: &[String]) -> Option<Value> {
    (!given.is_empty()).then(|| given.into())
}

/// Returns the number of a user.
fn number(text: &Value) -> Result<Value, String> {
    let number = text.as_str().and_then(|it| it.parse::<u32>().ok());
    number
        .map(Value::from)
        .ok_or_else(|| format!("is {text}: expected a number or `image`"))
}

/// Returns labels written as `name=value`.
fn labels(texts: &Value) -> Result<Value, String> {
    let texts = texts.as_array().into_iter().flatten();
    let labels = texts.filter_map(Value::as_str).map(|text| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("has {text:?}: expected `name=value`"))?;
        Ok((name.to_owned(), Value::from(value)))
    });
    let labels: Map<String, Value> = labels.collect::<Result<_, String>>()?;
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
            (
                users("root"),
                "`run-as-user` is \"root\": expected a number or `image`",
            ),
            (
                of_settings("node-selector = ['disk']"),
                "`node-selector` has \"disk\": expected `name=value`",
            ),
            (
                of_settings("node-selector = ['disk=very fast']"),
                "`node-selector` is \"disk=very fast\": expected a label such as disk=fast or example.com/disk=fast",
            ),
            (
                of_settings("cpu-request = 'half'"),
                "`cpu-request` is \"half\": expected a quantity such as 500m, 2 or 1Gi",
            ),
        ] {
            let refused = refused.expect_err("refused");
            let place = refused.split_once('`').map(|(place, _)| place);
            assert!(
                place.is_some_and(|it| it.starts_with("c.toml:2:")),
                "{refused}"
            );
            assert!(refused.ends_with(expected), "{refused}");
        }
    }
}
