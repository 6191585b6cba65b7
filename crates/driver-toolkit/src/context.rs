//! The job that a driver is called for.

use crate::failure::Failure;
use crate::name::resource_name;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

/// The prefix of the job's variables in the environment of a driver.
const PREFIX: &str = "CUSTOM_ENV_";

/// The job that a driver is called for: its variables, and what the runner says about it.
#[derive(Debug, Clone, Default)]
pub struct JobContext {
    /// The job's variables, without the prefix `CUSTOM_ENV_`. Some are secret.
    pub variables: BTreeMap<String, String>,
    /// The operator's variables: the environment of the driver without those of the job.
    pub environment: BTreeMap<String, String>,
    /// The operator's arguments of the program: those before the name of the stage (`prepare_args` and its like).
    pub arguments: Vec<String>,
}

/// A service of the job.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Service {
    /// Its image.
    pub name: String,
    /// The name under which the job reaches it.
    #[serde(default)]
    pub alias: Option<String>,
    /// Replaces the image's entry point.
    #[serde(default)]
    pub entrypoint: Option<Vec<String>>,
    /// Replaces the image's command.
    #[serde(default)]
    pub command: Option<Vec<String>>,
}

/// The user and password for a registry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RegistryCredentials {
    /// The registry's host, with its port if it has one.
    pub url: String,
    /// The user.
    pub username: String,
    /// The password or token.
    pub password: String,
}

/// The parts of the job response (`JOB_RESPONSE_FILE`) that drivers need.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct JobResponse {
    /// The image of the job.
    #[serde(default)]
    pub image: Option<ResponseImage>,
    /// Credentials of registries.
    #[serde(default, deserialize_with = "null_as_default")]
    pub credentials: Vec<RegistryCredentials>,
}

/// The image of a job response.
#[derive(Debug, Clone, Deserialize)]
pub struct ResponseImage {
    /// Its name; empty without an image.
    #[serde(default)]
    pub name: String,
    /// Replaces the image's entry point.
    #[serde(default, deserialize_with = "null_as_default")]
    pub entrypoint: Vec<String>,
}

fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl JobContext {
    /// Reads the context from the environment. Variables that are not UTF-8 are left out.
    pub fn from_env() -> Self {
        let mut context = Self::default();
        for (name, value) in env::vars_os() {
            let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) else {
                continue;
            };
            match name.strip_prefix(PREFIX) {
                Some(name) => context.variables.insert(name.to_owned(), value),
                None => context.environment.insert(name, value),
            };
        }
        context
    }

    /// Returns a variable of the job; `None` also when it is empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name)?;
        (!value.is_empty()).then_some(value)
    }

    /// Returns a variable of the operator; `None` also when it is empty.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let value = self.environment.get(name)?;
        (!value.is_empty()).then_some(value)
    }

    /// Returns a variable of the operator as a number or another value that can be parsed.
    ///
    /// # Errors
    ///
    /// When it has an invalid value.
    pub fn parsed_setting<T: std::str::FromStr>(
        &self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Failure> {
        let parse = |value: &str| {
            let invalid =
                || Failure::system(format!("invalid {name} {value:?}: expected {expected}"));
            value.parse().map_err(|_| invalid())
        };
        self.setting(name).map(parse).transpose()
    }

    /// Returns a variable that every job has.
    ///
    /// # Errors
    ///
    /// When it is missing or empty: a runner did not call this program.
    pub fn required(&self, name: &str) -> Result<&str, Failure> {
        self.variable(name).ok_or_else(|| {
            Failure::system(format!(
                "{PREFIX}{name} is missing: a runner sets it; set it by hand to try the driver without one"
            ))
        })
    }

    /// Returns the id of the job, `CI_JOB_ID`.
    ///
    /// # Errors
    ///
    /// When it is missing or not a number.
    pub fn job_id(&self) -> Result<u64, Failure> {
        let id = self.required("CI_JOB_ID")?;
        id.parse().map_err(|_| {
            Failure::system(format!(
                "invalid {PREFIX}CI_JOB_ID {id:?}: expected a number"
            ))
        })
    }

    /// Returns the image of the job, `CI_JOB_IMAGE`.
    pub fn image(&self) -> Option<&str> {
        self.variable("CI_JOB_IMAGE")
    }

    /// Returns whether the job has failed so far, as `cleanup` is called with it.
    pub fn has_failed(&self) -> bool {
        self.variable("CI_JOB_STATUS") == Some("failed")
    }

    /// Returns the services of the job, `CI_JOB_SERVICES`.
    ///
    /// # Errors
    ///
    /// When the variable is not the JSON that runners write.
    pub fn services(&self) -> Result<Vec<Service>, Failure> {
        let Some(text) = self.variable("CI_JOB_SERVICES") else {
            return Ok(Vec::new());
        };
        serde_json::from_str(text)
            .map_err(|error| Failure::system(format!("invalid {PREFIX}CI_JOB_SERVICES: {error}")))
    }

    /// Reads the job response; empty without `JOB_RESPONSE_FILE`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is invalid.
    pub fn response(&self) -> Result<JobResponse, Failure> {
        let Some(file) = self.setting("JOB_RESPONSE_FILE") else {
            return Ok(JobResponse::default());
        };
        let text =
            fs::read(file).map_err(|error| Failure::system(format!("read {file}: {error}")))?;
        serde_json::from_slice(&text)
            .map_err(|error| Failure::system(format!("invalid {file}: {error}")))
    }

    /// Returns the file for the exit code of a script, `BUILD_EXIT_CODE_FILE`.
    pub fn exit_code_file(&self) -> Option<PathBuf> {
        self.setting("BUILD_EXIT_CODE_FILE").map(PathBuf::from)
    }

    /// Returns a name for the resource of this job, the same in each stage, that no other job of any runner has.
    ///
    /// It is made of the runner, the project, the slot of the runner, and the job. Those but the job may be missing.
    ///
    /// # Errors
    ///
    /// When the job has no id.
    pub fn resource_name(&self, prefix: &str) -> Result<String, Failure> {
        let id = self.job_id()?.to_string();
        let runner = self
            .variable("CI_RUNNER_SHORT_TOKEN")
            .or_else(|| self.variable("CI_RUNNER_ID"));
        let project = self.variable("CI_PROJECT_ID");
        let slot = self.variable("CI_CONCURRENT_PROJECT_ID");
        Ok(resource_name(&[
            prefix,
            runner.unwrap_or("0"),
            project.unwrap_or("0"),
            slot.unwrap_or("0"),
            &id,
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(variables: &[(&str, &str)]) -> JobContext {
        let pairs = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        JobContext {
            variables: pairs.collect(),
            ..JobContext::default()
        }
    }

    #[test]
    fn context_is_read_with_precise_errors() {
        // R-VM-07
        let full = job(&[
            ("CI_JOB_ID", "42"),
            ("CI_RUNNER_SHORT_TOKEN", "Ab_1"),
            ("CI_PROJECT_ID", "7"),
            ("CI_CONCURRENT_PROJECT_ID", "3"),
            ("CI_JOB_IMAGE", ""),
            (
                "CI_JOB_SERVICES",
                r#"[{"name":"postgres:16","alias":"db","entrypoint":null,"command":["-c"]}]"#,
            ),
        ]);
        assert_eq!(full.job_id(), Ok(42));
        assert_eq!(full.image(), None);
        let services = full.services().unwrap();
        assert_eq!(
            (services[0].name.as_str(), services[0].alias.as_deref()),
            ("postgres:16", Some("db"))
        );
        let name = full.resource_name("ci").unwrap();
        assert!(name.starts_with("ci-ab-1-7-3-42-"), "{name}");
        // Ids that a runner does not know are zero.
        assert_eq!(
            job(&[("CI_JOB_ID", "42")]).resource_name("ci").unwrap(),
            "ci-0-0-0-42"
        );

        let missing = job(&[("CI_JOB_ID", "")]).job_id().unwrap_err().to_string();
        assert!(
            missing.starts_with("CUSTOM_ENV_CI_JOB_ID is missing"),
            "{missing}"
        );
        let invalid = job(&[("CI_JOB_ID", "x1")])
            .job_id()
            .unwrap_err()
            .to_string();
        assert_eq!(
            invalid,
            "invalid CUSTOM_ENV_CI_JOB_ID \"x1\": expected a number"
        );
        let services = job(&[("CI_JOB_SERVICES", "{")])
            .services()
            .unwrap_err()
            .to_string();
        assert!(
            services.starts_with("invalid CUSTOM_ENV_CI_JOB_SERVICES: "),
            "{services}"
        );
    }
}
