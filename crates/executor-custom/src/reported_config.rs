//! What `config_exec` prints about the job's environment.

use crate::environment::fits;
use crate::error::CustomError;
use executor_core::ShellDialect;
use executor_core::shell::UnknownShell;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The longest output of `config_exec` that is read, in bytes.
pub(crate) const LONGEST: usize = 1 << 20;

/// The keys that have a meaning.
pub(crate) const KEYS: [&str; 7] = [
    "builds_dir",
    "builds_dir_is_shared",
    "cache_dir",
    "driver",
    "hostname",
    "job_env",
    "shell",
];

/// The environment of a job, as the driver describes it. Each value overrides the runner's for this job.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ReportedConfig {
    pub(crate) driver: Option<DriverInfo>,
    pub(crate) hostname: Option<String>,
    pub(crate) builds_dir: Option<String>,
    pub(crate) cache_dir: Option<String>,
    pub(crate) builds_dir_is_shared: Option<bool>,
    /// Variables of the driver's own later calls; `null` is an empty value.
    pub(crate) job_env: Option<BTreeMap<String, Option<String>>>,
    pub(crate) shell: Option<String>,
    /// The keys that have no meaning.
    #[serde(skip)]
    pub(crate) unknown: Vec<String>,
}

/// The driver's name and version.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct DriverInfo {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
}

impl ReportedConfig {
    /// Reads the output: nothing, or one JSON object.
    ///
    /// # Errors
    ///
    /// For anything else.
    pub(crate) fn read(output: &[u8]) -> Result<Self, CustomError> {
        if output.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let invalid_output = |problem: String| CustomError::ConfigOutput {
            problem,
            output: String::from_utf8_lossy(output).into_owned(),
        };
        let invalid = |error: serde_json::Error| {
            invalid_output(format!("expected nothing or one JSON object: {error}"))
        };
        // In two steps, since of two equal keys the later counts.
        let value: Value = serde_json::from_slice(output).map_err(invalid)?;
        let value = match value {
            Value::Object(object) => with_lower_case_keys(object),
            Value::Null => return Ok(Self::default()),
            _ => {
                return Err(invalid_output(
                    "expected nothing or one JSON object".to_owned(),
                ));
            }
        };
        let keys = value.as_object().into_iter().flat_map(Map::keys);
        let unknown = keys.filter(|key| !KEYS.contains(&key.as_str()));
        let unknown = unknown.cloned().collect();
        let mut config: Self = serde_json::from_value(value).map_err(invalid)?;
        config.unknown = unknown;
        for text in [
            &mut config.hostname,
            &mut config.builds_dir,
            &mut config.cache_dir,
            &mut config.shell,
        ] {
            text.take_if(|text| text.is_empty());
        }
        let job_env = config.job_env.iter().flatten();
        for (name, value) in job_env {
            if !fits(name, value.as_deref().unwrap_or_default().as_bytes()) {
                return Err(CustomError::ConfigOutput {
                    problem: format!(
                        "no process environment can hold the variable {name:?} of `job_env`"
                    ),
                    output: String::new(),
                });
            }
        }
        Ok(config)
    }

    /// Returns the shell for the job's scripts; `None` means the runner's.
    ///
    /// # Errors
    ///
    /// When there is no such shell.
    pub(crate) fn dialect(&self) -> Result<Option<ShellDialect>, CustomError> {
        let shell = self.shell.as_deref().map(str::parse).transpose();
        shell.map_err(|error: UnknownShell| CustomError::ConfigOutput {
            problem: error.to_string(),
            output: String::new(),
        })
    }

    /// Returns the line of the log that names the driver.
    pub(crate) fn headline(&self) -> String {
        let info = self.driver.as_ref();
        let name = info.and_then(|info| info.name.as_deref());
        let version = info.and_then(|info| info.version.as_deref());
        match (name, version) {
            (Some(name), Some(version)) => {
                format!("Using Custom executor with driver {name} {version}...")
            }
            (Some(name), None) => format!("Using Custom executor with driver {name}..."),
            (None, _) => "Using Custom executor...".to_owned(),
        }
    }
}

/// Returns the object as GitLab Runner reads it, which ignores the case of keys.
fn with_lower_case_keys(object: Map<String, Value>) -> Value {
    let entries = object.into_iter().map(|(key, value)| {
        let key = key.to_ascii_lowercase();
        let value = match value {
            Value::Object(driver) if key == "driver" => with_lower_case_keys(driver),
            value => value,
        };
        (key, value)
    });
    Value::Object(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nothing_or_one_object_is_read() {
        let accepted = |text: &str| {
            let read = ReportedConfig::read(text.as_bytes());
            read.unwrap_or_else(|error| panic!("{text}: {error}"))
        };
        for text in ["", " \n", "null", "{}", r#"{"shell": ""}"#] {
            assert_eq!(accepted(text), ReportedConfig::default(), "{text}");
        }
        let later = accepted(r#"{"builds_dirr": "/b", "Hostname": "a"}"#);
        assert_eq!(later.unknown, ["builds_dirr"]);
        let twice = accepted(r#"{"hostname": "a", "hostname": "b"}"#);
        assert_eq!(twice.hostname.as_deref(), Some("b"));
        let cased =
            accepted(r#"{"Hostname": "a", "DRIVER": {"Name": "n"}, "job_env": {"Key": null}}"#);
        assert_eq!(cased.hostname.as_deref(), Some("a"));
        assert!(cased.headline().ends_with("driver n..."));
        assert_eq!(cased.job_env, Some([("Key".to_owned(), None)].into()));
        let long = format!(r#"{{"job_env": {{"A": "{}"}}}}"#, "x".repeat(200_000));
        for text in [
            long.as_str(),
            r#"{"job_env": {"A=B": ""}}"#,
            r#"{"job_env": {"": ""}}"#,
            r#"{"job_env": {"A": "a\u0000b"}}"#,
            "words",
            "[]",
            "5",
            r#"{"hostname": "a"} {"hostname": "b"}"#,
            r#"{"builds_dir": 5}"#,
            r#"{"job_env": {"A": 1}}"#,
            r#"{"driver": "name"}"#,
            "{\"hostname\": \"\u{fffd}\"",
        ] {
            let read = ReportedConfig::read(text.as_bytes());
            assert!(
                matches!(read, Err(CustomError::ConfigOutput { .. })),
                "{text}"
            );
        }
    }
}
