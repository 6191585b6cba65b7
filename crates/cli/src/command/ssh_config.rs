//! The hosts that jobs run on over SSH.

use super::setting_error::refuse;
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
    let config = read(settings)?;
    if config.host.is_none() && config.hosts.is_empty() {
        return Err(
            Failure::usage(anyhow!("the executor ssh has no host")).with_help(
                "write `host = \"build.example\"` below `[ssh]`, or below `[[ssh.hosts]]` for each of several, in \
                 ~/.runwright/config.toml",
            ),
        );
    }
    check(settings, config)
}

/// Returns the settings of `[ssh]` for machines of a fleet, which are its hosts.
///
/// # Errors
///
/// If they are invalid, or a password cannot be read.
pub(super) fn ssh_config_of_machines(settings: &Settings) -> Result<SshConfig, Failure> {
    let config = SshConfig {
        host: None,
        hosts: Vec::new(),
        capacity: None,
        ..read(settings)?
    };
    check(settings, config)
}

fn read(settings: &Settings) -> Result<SshConfig, Failure> {
    let mut all = table(settings, "ssh", None)?;
    let hosts = settings.members("ssh.hosts").into_iter();
    let hosts = hosts.map(|of| table(settings, "ssh.hosts", Some(of)).map(Value::Object));
    all.insert(
        "hosts".to_owned(),
        Value::Array(hosts.collect::<Result<_, _>>()?),
    );
    serde_json::from_value(Value::Object(all))
        .map_err(|error| wrong(&strip_controls(&error.to_string())))
}

fn check(settings: &Settings, config: SshConfig) -> Result<SshConfig, Failure> {
    config.check().map_err(|invalid| {
        let of = invalid
            .host
            .map(|index| settings.members("ssh.hosts")[index]);
        let section = if of.is_some() { "ssh.hosts" } else { "ssh" };
        refuse(settings, (section, of, invalid.key), &invalid.message)
    })?;
    Ok(config)
}

/// Returns one section, with the password to which it refers.
fn table(settings: &Settings, name: &str, of: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let mut table = Map::new();
    for (key, value) in settings.section_of(name, of) {
        let value = serde_json::to_value(value).map_err(Failure::usage)?;
        if key == "port" && value.as_u64().is_some_and(|port| port > u16::MAX.into()) {
            let why = format!("`port` is {value}: a port is a number from 1 to 65535");
            return Err(refuse(settings, (name, of, key), &why));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn invalid_settings_are_refused_with_their_place() {
        for (text, expect) in [
            ("[ssh]\nhost = 'me@h'", "c.toml:2:8: `host` is \"me@h\""),
            (
                "[ssh]\nhost = 'h'\nport = 70000",
                "c.toml:3:8: `port` is 70000",
            ),
            (
                "[ssh]\nhost = 'h'\nproxy-jump = 'a b'",
                "c.toml:3:14: `proxy-jump`: \"a b\"",
            ),
            (
                "[[ssh.hosts]]\nhost = 'h'\n[[ssh.hosts]]\ncapacity = 2",
                "c.toml:4:12: number 2 of [[ssh.hosts]] has no `host`",
            ),
            (
                "[[ssh.hosts]]\nhost = 'a'\n[[ssh.hosts]]\nhost = 'h:22'",
                "c.toml:4:8: `host` is \"h:22\"",
            ),
            (
                "[[ssh.hosts]]\nhost = 'a'\nport = 65536",
                "c.toml:3:8: `port` is 65536",
            ),
            (
                "[ssh]\nhost = 'h'\n[[ssh.hosts]]\nhost = 'a'",
                "c.toml:2:8: `host` of [ssh] has no effect",
            ),
            ("[ssh]\nuser = 'me'", "the executor ssh has no host"),
        ] {
            let settings = Settings::parse(Path::new("c.toml"), text, None).unwrap();
            let error = ssh_config(&settings).unwrap_err().message();
            assert!(error.starts_with(expect), "{text}: {error}");
        }
    }
}
