//! The configuration of containers, and the connection to their engine.

use crate::args::DockerArgs;
use crate::failure::Failure;
use anyhow::anyhow;
use console::strip_controls;
use executor_docker::DockerError;
use executor_docker::config::{DockerConfig, KeyStyle};
use executor_docker::engine::{DockerHost, Engine, HostSettings};
use serde_json::{Map, Value};
use std::path::Path;
use workstation::{GarbageSettings, Settings};

/// Returns the configuration of containers, from settings and options.
pub(super) fn config(settings: &Settings, docker: &DockerArgs) -> Result<DockerConfig, Failure> {
    let mut said = Map::new();
    let section = settings.section("docker").into_iter();
    for (key, value) in section.filter(|(key, _)| !GarbageSettings::KEYS.contains(key)) {
        let value = serde_json::to_value(value).map_err(Failure::usage)?;
        said.insert(key.replace('-', "_"), value);
    }
    let mut say = |key: &str, value: Value| {
        said.entry(key).or_insert(value);
    };
    if let Some(image) = &docker.image {
        say("image", image.as_str().into());
    }
    let policies = docker.pull_policy();
    if policies.is_empty() {
        say("pull_policy", "if-not-present".into());
    } else {
        say("pull_policy", policies.into());
    }
    // The user wrote the jobs, or at least chose to run them, so every pull policy is allowed.
    let all = ["always", "if-not-present", "never"];
    say("allowed_pull_policies", all.as_slice().into());
    let mut config: DockerConfig = serde_json::from_value(Value::Object(said))
        .map_err(|error| wrong(&strip_controls(&error.to_string())))?;
    config.key_style = KeyStyle::Hyphens;
    match config.problems().first() {
        Some(problem) => Err(wrong(&strip_controls(&problem.to_string()))),
        None => Ok(config),
    }
}

pub(super) fn wrong(why: &str) -> Failure {
    Failure::usage(anyhow!("invalid container settings: {why}"))
        .with_help("`runwright config show --origin` shows where they come from")
}

/// Connects to the engine that a configuration names.
pub(super) async fn connect(config: &DockerConfig) -> Result<Engine, DockerError> {
    let host = DockerHost::find(&HostSettings {
        host: config.host.as_deref(),
        tls_verify: config.tls_verify,
        tls_cert_path: config.tls_cert_path.as_deref().map(Path::new),
    })?;
    Engine::connect(&host).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_docker::config::policy::check_image;
    use executor_docker::image::{ImageReference, PullPolicy};

    fn read(text: &str, docker: &DockerArgs) -> Result<DockerConfig, String> {
        let settings = Settings::parse(Path::new("config.toml"), text, None).expect("settings");
        config(&settings, docker).map_err(|failure| failure.message())
    }

    #[test]
    fn configuration_combines_settings_and_options() {
        let docker = DockerArgs::default();
        let plain = read("", &docker).expect("a configuration");
        assert_eq!(plain.image, None);
        assert_eq!(plain.pull_policy, [PullPolicy::IfNotPresent]);
        assert_eq!(plain.allowed_pull_policies.len(), 3);
        assert!(!plain.privileged && plain.volumes.is_empty());

        let text = "[docker]\nprivileged = true\nvolumes = [\"/a:/b\"]\nmemory = \"1g\"\n\
                    cpus = \"1.5\"\nwait-for-services-timeout = 7\nengine = \"exec\"\n\
                    devices = [\"/dev/kvm\"]\ngpus = \"all\"\nextra-hosts = [\"a:10.0.0.1\"]\n";
        let docker = DockerArgs {
            image: Some("debian:12".to_owned()),
            ..DockerArgs::default()
        };
        let full = read(text, &docker).expect("a configuration");
        assert!(full.privileged);
        assert_eq!(full.image.as_deref(), Some("debian:12"));
        assert_eq!(full.volumes, ["/a:/b"]);
        assert_eq!(full.wait_for_services_timeout, 7);
        assert!(full.memory.is_some() && full.cpus.is_some() && full.gpus.is_some());

        let refused = read("[docker]\nmemory = \"much\"\n", &docker).expect_err("refused");
        assert!(refused.contains("invalid container settings"), "{refused}");
    }

    #[test]
    fn messages_use_the_key_names_of_settings() {
        let docker = DockerArgs::default();
        let refused = read("[docker]\nmemory = \"1m\"\n", &docker).expect_err("refused");
        assert!(refused.contains(": docker.memory: "), "{refused}");
        let config = read("[docker]\nallowed-images = [\"debian:*\"]\n", &docker);
        let image = ImageReference::parse("busybox").expect("a reference");
        let refused = check_image(&config.expect("a configuration"), &image).expect_err("refused");
        let refused = refused.to_string();
        assert!(
            refused.contains("the runner's allowed-images has only"),
            "{refused}"
        );
    }
}
