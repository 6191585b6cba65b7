//! The hosts that jobs run on over SSH.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use console::strip_controls;
use executor_ssh::SshConfig;
use serde_json::{Map, Value};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use workstation::Settings;

/// Returns the settings of `[ssh]` and `[[ssh.hosts]]`.
///
/// # Errors
///
/// If they are invalid, name no host, or a password cannot be read.
pub(super) fn ssh_config(settings: &Settings) -> Result<SshConfig, Failure> {
    let mut all = table(settings, "ssh", None)?;
    let hosts = settings.members("ssh.hosts").into_iter();
    let hosts = hosts.map(|of| table(settings, "ssh.hosts", Some(of)).map(Value::Object));
    all.insert(
        "hosts".to_owned(),
        Value::Array(hosts.collect::<Result<_, _>>()?),
    );
    let config: SshConfig = serde_json::from_value(Value::Object(all))
        .map_err(|error| wrong(&strip_controls(&error.to_string())))?;
    if config.host.is_none() && config.hosts.iter().all(|it| it.host.is_none()) {
        return Err(
            Failure::usage(anyhow!("the executor ssh has no host")).with_help(
                "write `host = \"build.example\"` below `[ssh]` in ~/.runwright/config.toml",
            ),
        );
    }
    Ok(config)
}

/// Returns one section, with the password that it refers to.
fn table(settings: &Settings, name: &str, of: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let mut table = Map::new();
    for (key, value) in settings.section_of(name, of) {
        let value = serde_json::to_value(value).map_err(Failure::usage)?;
        table.insert(key.replace('-', "_"), value);
    }
    let by_variable = table.remove("password_env");
    let by_file = table.remove("password_file");
    let password = match (by_variable, by_file) {
        (Some(_), Some(_)) => {
            return Err(wrong("set password-env or password-file, not both"));
        }
        (Some(Value::String(variable)), None) => match std::env::var(&variable) {
            Ok(password) => password,
            Err(_) => {
                return Err(wrong(&format!(
                    "the variable {variable} of password-env is not set"
                )));
            }
        },
        (None, Some(Value::String(file))) => secret_file(&file)?,
        _ => return Ok(table),
    };
    table.insert("password".to_owned(), password.into());
    Ok(table)
}

/// Reads a password from a file that only its owner can read.
fn secret_file(file: &str) -> Result<String, Failure> {
    let shown = strip_controls(file);
    let read = || -> anyhow::Result<String> {
        if fs::metadata(file)?.permissions().mode() & 0o077 != 0 {
            return Err(anyhow!("others may read it: use `chmod 600`"));
        }
        Ok(fs::read_to_string(file)?)
    };
    let text = read().with_context(|| format!("password-file {shown}"));
    let text = text.map_err(Failure::usage)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn wrong(why: &str) -> Failure {
    Failure::usage(anyhow!("invalid settings of [ssh]: {why}"))
        .with_help("`runwright config show --origin` shows where they come from")
}
