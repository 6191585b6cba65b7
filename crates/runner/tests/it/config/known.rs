//! The executors of these tests.

use runner::config::{
    ConfigFile, DefaultDifference, Fields, KeyNote, Known, KnownExecutor, KnownTable, TableProblem,
    read_table,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A few keys of `[runners.docker]`.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Docker {
    image: String,
    memory: u64,
    privileged: bool,
    password: String,
    services: Vec<Service>,
    tmpfs: BTreeMap<String, String>,
}

/// `[[runners.docker.services]]`.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Service {
    name: String,
    alias: String,
}

/// Returns two executors: `shell`, and `docker` with a check of its table.
pub(super) fn known() -> Known {
    Known {
        executors: vec![
            KnownExecutor {
                name: "shell",
                tables: &[],
            },
            KnownExecutor {
                name: "docker",
                tables: &["docker"],
            },
        ],
        tables: vec![KnownTable {
            note: |path| match path {
                ["helper_image"] => Some(KeyNote::NoEffect("there is no helper container")),
                ["services", "suspend_data_path"] => {
                    Some(KeyNote::NoEffect("jobs are not suspended"))
                }
                ["isolation"] => Some(KeyNote::Refused("Windows containers are not run")),
                _ => None,
            },
            check: check_docker,
            differences: &[DefaultDifference {
                key: "privileged",
                in_gitlab_runner: "true",
                here: "false",
            }],
            ..KnownTable::new(
                "docker",
                Fields::of::<Docker>().with_nested("services", Fields::of::<Service>()),
            )
        }],
        ..Known::default()
    }
}

fn check_docker(table: &toml_edit::Table) -> Vec<TableProblem> {
    let docker: Docker = match read_table(table) {
        Ok(docker) => docker,
        Err(error) => return vec![TableProblem::from_read_error(&error)],
    };
    let mut problems = Vec::new();
    if docker.image.is_empty() {
        problems.push(TableProblem::error("image", "is missing"));
    }
    if docker.privileged {
        problems.push(TableProblem::warning("privileged", "jobs rule the host"));
    }
    for (index, service) in docker.services.iter().enumerate() {
        if service.name.is_empty() {
            problems.push(TableProblem {
                path: vec!["services".into(), index.to_string()],
                ..TableProblem::error("services", "a service has no name")
            });
        }
        if service.alias == "bad" {
            problems.push(TableProblem {
                path: vec!["services".into(), index.to_string(), "alias".into()],
                ..TableProblem::error("services", "is not an alias")
            });
        }
    }
    problems
}

/// Reads a text as `config.toml`.
pub(super) fn parse(text: &str) -> ConfigFile {
    parse_with(text, &known())
}

/// Reads a text as `config.toml`.
pub(super) fn parse_with(text: &str, known: &Known) -> ConfigFile {
    ConfigFile::parse(Path::new("config.toml"), text, known).unwrap()
}
