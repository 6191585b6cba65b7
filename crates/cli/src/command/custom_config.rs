//! The driver of the custom executor, from the user's settings.

use crate::failure::Failure;
use anyhow::anyhow;
use console::strip_controls;
use executor_custom::{CustomConfig, CustomOptions};
use serde_json::{Map, Value};
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
    let config: CustomConfig = serde_json::from_value(Value::Object(keys)).map_err(|error| {
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
    let mut options = CustomOptions::new(config);
    options.builds_dir = builds_dir;
    options.cache_dir = cache_dir;
    Ok(options)
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
        let refused = read("[custom]\nprepare-exec = \"/d\"\n").expect_err("refused");
        assert!(refused.contains("has no driver"), "{refused}");
    }
}
