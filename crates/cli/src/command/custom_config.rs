//! The driver of the custom executor, from the user's settings.

use crate::failure::Failure;
use anyhow::anyhow;
use console::strip_controls;
use executor_custom::{CustomConfig, CustomOptions};
use serde_json::{Map, Value};
use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use workstation::Settings;

/// Returns the driver that the settings name.
///
/// # Errors
///
/// When they name none.
pub(super) fn options(settings: &Settings) -> Result<CustomOptions, Failure> {
    let mut keys = Map::new();
    for (key, value) in settings.section("custom") {
        let value = serde_json::to_value(value).map_err(Failure::usage)?;
        keys.insert(key.replace('-', "_"), value);
    }
    let mut directory = |key: &str| match keys.remove(key) {
        Some(Value::String(path)) => Some(path),
        _ => None,
    };
    let (builds_dir, cache_dir) = (directory("builds_dir"), directory("cache_dir"));
    keys.remove("endpoint_address");
    let mut config: CustomConfig =
        serde_json::from_value(Value::Object(keys)).map_err(|error| {
            let error = strip_controls(&error.to_string());
            Failure::usage(anyhow!("invalid settings of [custom]: {error}"))
        })?;
    if config.run_exec.is_empty() {
        return Err(
            Failure::usage(anyhow!("the custom executor has no driver")).with_help(
                "name the program that runs a stage as `run-exec` in section [custom] of the user's settings file; \
                 `runwright config show --origin` names the file",
            ),
        );
    }
    for program in [
        &mut config.config_exec,
        &mut config.prepare_exec,
        &mut config.run_exec,
        &mut config.cleanup_exec,
    ] {
        *program = program_path(settings, program)?;
    }
    let mut options = CustomOptions::new(config);
    options.builds_dir = builds_dir;
    options.cache_dir = cache_dir;
    Ok(options)
}

/// Returns the path of a driver's program: relative paths start at the settings file, and a mere name is found on the `PATH`.
///
/// # Errors
///
/// For a mere name that is beside the settings alone.
pub(super) fn program_path(settings: &Settings, program: &str) -> Result<String, Failure> {
    let path = match (program.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(program),
    };
    let Some(directory) = settings.directory() else {
        return Ok(path.display().to_string());
    };
    let beside = directory.join(&path);
    if program.contains('/') {
        return Ok(beside.display().to_string());
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let is_found = std::env::split_paths(&search).any(|it| it.join(&path).is_file());
    if is_found || program.is_empty() || !beside.is_file() {
        return Ok(program.to_owned());
    }
    let program = strip_controls(program);
    let error = anyhow!("there is no program {program} on the PATH");
    Err(Failure::usage(error).with_help(format!(
        "for the file beside the settings write \"./{program}\""
    )))
}

/// Returns the address of this machine at which environments of the driver reach it.
///
/// # Errors
///
/// When the setting is not an address on which this machine can listen.
pub(super) fn endpoint_address(settings: &Settings) -> Result<Option<IpAddr>, Failure> {
    let mut said = settings.section("custom").into_iter();
    let Some((_, value)) = said.find(|(key, _)| *key == "endpoint-address") else {
        return Ok(None);
    };
    let value = serde_json::to_value(value).map_err(Failure::usage)?;
    let text = value.as_str().unwrap_or_default();
    let invalid = |why: &str| {
        let text = strip_controls(text);
        Failure::usage(anyhow!(
            "invalid settings of [custom]: endpoint-address {text:?} {why}"
        ))
        .with_help("name an address of this machine, such as that of a bridge: \"192.168.122.1\"")
    };
    let address = text.parse::<IpAddr>();
    let address = address.map_err(|_| invalid("is not an IP address"))?;
    if address.is_unspecified() || address.is_multicast() {
        return Err(invalid("is not an address that an environment can reach"));
    }
    // The first job would find it out, after its environment is prepared.
    if let Err(error) = TcpListener::bind((address, 0)) {
        return Err(invalid(&format!("cannot be listened on: {error}")));
    }
    Ok(Some(address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    fn read(text: &str) -> Result<CustomOptions, String> {
        let settings = Settings::parse(Path::new("config.toml"), text, None).expect("settings");
        options(&settings).map_err(|failure| failure.message())
    }

    #[test]
    fn driver_is_read_from_the_section() {
        let options = read(
            "[custom]\nrun-exec = \"/d\"\nrun-args = [\"run\"]\nprepare-exec-timeout = 7\n\
             builds-dir = \"/builds\"\n",
        );
        let options = options.expect("a driver");
        assert_eq!(options.config.run_exec, "/d");
        assert_eq!(options.config.run_args, ["run"]);
        let timeout = options.config.prepare_exec_timeout;
        assert_eq!(timeout, Some(Duration::from_secs(7)));
        assert_eq!(options.builds_dir.as_deref(), Some("/builds"));
        let relative = read("[custom]\nrun-exec = \"boards/run\"\ncleanup-exec = \"cleanup\"\n");
        let relative = relative.expect("a driver").config;
        let here = std::env::current_dir().expect("a directory");
        let run = here.join("boards/run").display().to_string();
        assert_eq!(
            (relative.run_exec, &*relative.cleanup_exec),
            (run, "cleanup")
        );
        let home = std::env::home_dir().expect("a home directory");
        let below_home = read("[custom]\nrun-exec = \"~/d\"\n").expect("a driver");
        assert_eq!(Path::new(&below_home.config.run_exec), home.join("d"));
        let refused = read("[custom]\nprepare-exec = \"/d\"\n").expect_err("refused");
        assert!(refused.contains("has no driver"), "{refused}");
    }

    #[test]
    fn mere_name_of_a_file_beside_the_settings_is_refused_with_the_path_to_write() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("run-board"), "").expect("a file");
        let file = directory.path().join("config.toml");
        let of = |name: &str| {
            let text = format!("[custom]\nrun-exec = \"{name}\"\n");
            let settings = Settings::parse(&file, &text, None).expect("settings");
            options(&settings).map_err(|failure| failure.message())
        };
        let refused = of("run-board").expect_err("refused");
        assert!(refused.contains("on the PATH"), "{refused}");
        for accepted in ["./run-board", "sh", "run-later"] {
            of(accepted).expect("a driver");
        }
    }

    #[test]
    fn endpoint_has_an_address_of_this_machine() {
        let address = |said: &str| {
            let text = format!("[custom]\nrun-exec = \"/d\"\n{said}");
            let settings = Settings::parse(Path::new("config.toml"), &text, None);
            let settings = settings.expect("settings");
            options(&settings).expect("a driver");
            endpoint_address(&settings).map_err(|failure| failure.message())
        };
        assert_eq!(address(""), Ok(None));
        let other = address("endpoint-address = \"127.0.0.2\"\n");
        assert_eq!(other, Ok(Some([127, 0, 0, 2].into())));
        for (said, why) in [
            ("bridge", "is not an IP address"),
            ("0.0.0.0", "is not an address that an environment can reach"),
            ("::", "is not an address that an environment can reach"),
            (
                "224.0.0.1",
                "is not an address that an environment can reach",
            ),
            // Reserved for documentation.
            ("192.0.2.1", "cannot be listened on"),
        ] {
            let refused = address(&format!("endpoint-address = \"{said}\"\n"));
            let refused = refused.expect_err("refused");
            assert!(refused.contains(why), "{refused}");
        }
    }
}
