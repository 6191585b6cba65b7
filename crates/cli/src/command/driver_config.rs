//! The driver of `--executor driver`, from the user's settings.

use super::custom_config::program_path;
use crate::failure::Failure;
use anyhow::anyhow;
use console::strip_controls;
use executor_driver::DriverConfig;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;
use workstation::Settings;

/// The section `[driver]`, which only the user's settings may have.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct Section {
    command: Vec<String>,
    start_timeout: Option<u64>,
    call_timeout: Option<u64>,
    prepare_timeout: Option<u64>,
    cleanup_timeout: Option<u64>,
}

/// Returns the configuration of the driver.
pub(super) fn of_settings(settings: &Settings) -> Result<DriverConfig, Failure> {
    let mut section = Map::new();
    for (key, value) in settings.section("driver") {
        let value = serde_json::to_value(value).map_err(Failure::usage)?;
        section.insert(key.to_owned(), value);
    }
    let section: Section = serde_json::from_value(Value::Object(section))
        .map_err(|error| wrong(&strip_controls(&error.to_string())))?;
    let mut command = section.command;
    let Some(program) = command.first_mut() else {
        return Err(wrong("`command` is missing"));
    };
    *program = program_path(settings, program)?;
    let mut config = DriverConfig::new(command);
    config.working_directory = settings.directory();
    for (limit, said) in [
        (&mut config.start_timeout, section.start_timeout),
        (&mut config.call_timeout, section.call_timeout),
        (&mut config.prepare_timeout, section.prepare_timeout),
        (&mut config.cleanup_timeout, section.cleanup_timeout),
    ] {
        if said == Some(0) {
            return Err(wrong(
                "a timeout of 0 seconds leaves no time; leave the key out for the default",
            ));
        }
        if let Some(seconds) = said {
            *limit = Duration::from_secs(seconds);
        }
    }
    Ok(config)
}

fn wrong(why: &str) -> Failure {
    Failure::usage(anyhow!("invalid settings of the driver: {why}")).with_help(
        "name it in your own settings: `[driver]` and `command = [\"python3\", \"/opt/drivers/host.py\"]`; \
         `runwright config show --origin` shows where settings come from",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(text: &str) -> Result<DriverConfig, String> {
        let settings = Settings::parse(Path::new("config.toml"), text, None).expect("settings");
        of_settings(&settings).map_err(|failure| failure.message())
    }

    #[test]
    fn section_names_the_driver() {
        let text = "[driver]\ncommand = [\"python3\", \"d.py\"]\ncall-timeout = 7\n";
        let config = read(text).expect("a configuration");
        assert_eq!(config.command, ["python3", "d.py"]);
        assert_eq!(config.call_timeout, Duration::from_secs(7));
        assert_eq!(config.start_timeout, DriverConfig::default().start_timeout);
        let refused = read("").expect_err("no command");
        assert!(refused.contains("`command` is missing"), "{refused}");
    }
}
