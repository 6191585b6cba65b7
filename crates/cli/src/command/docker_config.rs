//! The configuration of containers, and the connection to their engine.

use crate::args::DockerArgs;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use console::strip_controls;
use executor_docker::DockerError;
use executor_docker::config::{DockerConfig, KeyStyle};
use executor_docker::engine::{DockerHost, Engine, HostSettings};
use serde_json::{Map, Value};
use std::fs;
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
    let policies = docker.pull_policy.as_slice();
    if policies.is_empty() {
        say("pull_policy", "if-not-present".into());
    } else {
        say("pull_policy", policies.into());
    }
    // The user wrote the jobs, or at least chose to run them, so every pull policy is allowed.
    let all = ["always", "if-not-present", "never"];
    say("allowed_pull_policies", all.as_slice().into());
    add_options(&mut said, docker)?;
    let mut config: DockerConfig = serde_json::from_value(Value::Object(said))
        .map_err(|error| wrong(&strip_controls(&error.to_string())))?;
    config.key_style = KeyStyle::Hyphens;
    match config.problems().first() {
        Some(problem) => Err(wrong(&strip_controls(&problem.to_string()))),
        None => Ok(config),
    }
}

/// The file in which most images have the CA certificates that they trust.
const CA_FILE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Adds options to the settings: values of a list follow those of the settings, others replace them.
fn add_options(said: &mut Map<String, Value>, docker: &DockerArgs) -> Result<(), Failure> {
    let mut add = |key: &str, values: &[String]| {
        let list = said.entry(key).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.extend(values.iter().map(|value| value.as_str().into()));
        }
    };
    add("volumes", &docker.volume);
    add("extra_hosts", &docker.extra_host);
    if let Some(file) = &docker.ca_file {
        let path = fs::canonicalize(file)
            .with_context(|| format!("--ca-file {}", file.display()))
            .map_err(Failure::usage)?;
        add("volumes", &[format!("{}:{CA_FILE}:ro", path.display())]);
        let variables = [
            ("SSL_CERT_FILE", CA_FILE),
            ("SSL_CERT_DIR", "/etc/ssl/certs"),
        ];
        add(
            "environment",
            &variables.map(|(name, value)| format!("{name}={value}")),
        );
    }
    let mut set = |key: &str, value: Value| said.insert(key.to_owned(), value);
    if let Some(network) = &docker.network {
        set("network_mode", network.as_str().into());
    }
    if docker.privileged {
        set("privileged", true.into());
        set("services_privileged", true.into());
    }
    if docker.umask {
        set("user", "0:0".into());
    }
    let limits = docker.ulimit.iter().map(|text| {
        let (name, limit) = text.split_once('=').unwrap_or(("nofile", text));
        (name.to_owned(), Value::from(limit))
    });
    let limits: Map<String, Value> = limits.collect();
    if !limits.is_empty() {
        set("ulimit", limits.into());
    }
    Ok(())
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
    fn options_follow_and_replace_settings() {
        let certificates = tempfile::NamedTempFile::new().expect("a file");
        let text = "[docker]\nvolumes = [\"/a:/b\"]\nnetwork-mode = \"none\"\nuser = \"ci\"\n";
        let owned = |texts: &[&str]| texts.iter().map(|&it| it.to_owned()).collect();
        let docker = DockerArgs {
            volume: owned(&["/c:/d:ro"]),
            network: Some("bridge".to_owned()),
            extra_host: owned(&["a:10.0.0.1"]),
            privileged: true,
            umask: true,
            ulimit: owned(&["2048", "core=0:-1"]),
            ca_file: Some(certificates.path().to_owned()),
            ..DockerArgs::default()
        };
        let config = read(text, &docker).expect("a configuration");
        let path = fs::canonicalize(certificates.path()).expect("there");
        let mounted = format!("{}:/etc/ssl/certs/ca-certificates.crt:ro", path.display());
        assert_eq!(config.volumes, ["/a:/b", "/c:/d:ro", &mounted]);
        assert_eq!(config.network_mode.as_deref(), Some("bridge"));
        assert_eq!(config.extra_hosts, ["a:10.0.0.1"]);
        assert_eq!(config.user.as_deref(), Some("0:0"));
        assert!(config.privileged && config.services_privileged);
        assert_eq!(config.ulimit["nofile"].hard, 2048);
        assert_eq!(config.ulimit["core"].hard, -1);
        assert!(config.environment[0].starts_with("SSL_CERT_FILE=/etc/ssl"));

        let refused = |docker: &DockerArgs| read("", docker).expect_err("refused");
        let docker = DockerArgs {
            ulimit: owned(&["files=1"]),
            ..DockerArgs::default()
        };
        assert!(refused(&docker).contains("`files` is none of"));
        let docker = DockerArgs {
            ca_file: Some("/none.pem".into()),
            ..DockerArgs::default()
        };
        assert!(refused(&docker).contains("--ca-file /none.pem"));
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
