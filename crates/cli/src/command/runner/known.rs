//! The executors of this build, as the reader of config.toml needs them.

use crate::executors::{DOCKER_AUTOSCALER, DOCKER_MACHINE, INSTANCE};
use executor_custom::CustomConfig;
use executor_docker::config::{DockerConfig, ServiceConfig, Severity as DockerSeverity};
use executor_kubernetes::KubernetesConfig;
use executor_machine::settings::{AutoscalerSettings, MachineSettings};
use runner::config::{
    Fields, KeyNote, Known, KnownExecutor, KnownTable, Strictness, TableProblem, read_table,
};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::path::PathBuf;

/// `[runners.ssh]`, with the keys of GitLab Runner.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SshTable {
    pub(super) host: Option<String>,
    #[serde(deserialize_with = "port")]
    pub(super) port: Option<u16>,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) identity_file: Option<PathBuf>,
    pub(super) known_hosts_file: Option<PathBuf>,
    pub(super) disable_strict_host_key_checking: bool,
}

/// Reads a port, which GitLab Runner has as a text; an empty one is none.
fn port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::String(text) if text.is_empty() => return Ok(None),
        Value::String(text) => text,
        other => other.to_string(),
    };
    let port = text.parse().ok().filter(|it| *it > 0);
    let wrong = || D::Error::custom(format!("{text:?} is not a port, a number from 1 to 65535"));
    port.map(Some).ok_or_else(wrong)
}

/// Returns what config.toml may name.
pub(super) fn known(strictness: Strictness) -> Known {
    let executor = |name, tables| KnownExecutor { name, tables };
    Known {
        executors: vec![
            executor(executor_shell::NAME, &[]),
            executor(executor_docker::NAME, &["docker"]),
            executor(DOCKER_MACHINE, &["docker", "machine"]),
            executor(DOCKER_AUTOSCALER, &["docker", "autoscaler"]),
            executor(INSTANCE, &["instance", "autoscaler"]),
            executor(executor_custom::NAME, &["custom"]),
            executor(executor_ssh::NAME, &["ssh"]),
            executor(executor_kubernetes::NAME, &["kubernetes"]),
        ],
        tables: vec![
            docker(),
            kubernetes(),
            table::<CustomConfig>("custom"),
            table::<SshTable>("ssh"),
            table::<MachineSettings>("machine"),
            table::<AutoscalerSettings>("autoscaler"),
        ],
        strictness,
    }
}

fn table<T: DeserializeOwned>(name: &'static str) -> KnownTable {
    KnownTable {
        check: |table| {
            read_table::<T>(table)
                .err()
                .iter()
                .map(TableProblem::from_read_error)
                .collect()
        },
        ..KnownTable::new(name, Fields::of::<T>())
    }
}

fn docker() -> KnownTable {
    let fields = Fields::of::<DockerConfig>();
    KnownTable {
        check: |table| match read_table::<DockerConfig>(table) {
            Err(error) => vec![TableProblem::from_read_error(&error)],
            Ok(config) => config
                .problems()
                .iter()
                .map(|problem| {
                    let make = match problem.severity {
                        DockerSeverity::Error => TableProblem::error,
                        DockerSeverity::Warning => TableProblem::warning,
                    };
                    make(problem.key, problem.message.clone())
                })
                .collect(),
        },
        ..KnownTable::new(
            "docker",
            fields.with_nested("services", Fields::of::<ServiceConfig>()),
        )
    }
}

fn kubernetes() -> KnownTable {
    KnownTable {
        note: |path| {
            let key = path.first()?;
            let refused = KubernetesConfig::refused(key).map(KeyNote::Refused);
            refused.or_else(|| KubernetesConfig::ignored(key).map(KeyNote::NoEffect))
        },
        ..table::<KubernetesConfig>("kubernetes")
    }
}
