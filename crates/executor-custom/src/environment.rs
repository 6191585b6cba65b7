//! The environment of a driver's programs.

use crate::exit::{BUILD_FAILURE, SYSTEM_FAILURE};
use crate::services::services;
use executor_core::variable::{
    JobVariable, JobVariables, LONGEST_VALUE, MAX_ENVIRONMENT_ENTRY, expand_within,
};
use executor_core::{BuildDirs, FileVariable, Job, StageVariables};
use process::Environment;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The prefix of the job's variables.
const PREFIX: &str = "CUSTOM_ENV_";
/// The private directory of a job whose directories are not known yet.
const UNKNOWN_TEMP_DIR: &str = ".tmp";

/// The part of the environment that is the same in all calls of an attempt.
///
/// Values may be secrets, so `Debug` shows no variables.
pub(crate) struct DriverEnvironment {
    pub(crate) exit_code_file: PathBuf,
    common: Vec<(OsString, OsString)>,
    /// The driver's own variables, set by its config call.
    job_env: BTreeMap<String, String>,
    services: String,
}

impl DriverEnvironment {
    pub(crate) fn new(
        of_runner: &Environment,
        directory: &Path,
        job_response: &Path,
        job: &Job,
        variables: &JobVariables,
    ) -> Self {
        let exit_code_file = directory.join("build_exit_code");
        let own = |(name, value): (&OsStr, &OsStr)| (name.to_owned(), value.to_owned());
        let mut common: Vec<(OsString, OsString)> = of_runner.iter().map(own).collect();
        let paths = [
            ("TMPDIR", directory),
            ("JOB_RESPONSE_FILE", job_response),
            ("BUILD_EXIT_CODE_FILE", &exit_code_file),
        ];
        common.extend(paths.map(|(name, path)| (name.into(), path.into())));
        let codes = [
            ("BUILD_FAILURE_EXIT_CODE", BUILD_FAILURE),
            ("SYSTEM_FAILURE_EXIT_CODE", SYSTEM_FAILURE),
        ];
        common.extend(codes.map(|(name, code)| (name.into(), code.to_string().into())));
        // Those that a job sets follow.
        let flags = shells::ScriptOptions::FEATURE_FLAGS;
        common.extend(flags.map(|name| (format!("{PREFIX}{name}").into(), "false".into())));
        Self {
            exit_code_file,
            common,
            job_env: BTreeMap::new(),
            services: services(job, variables),
        }
    }

    pub(crate) fn set_job_env(&mut self, job_env: BTreeMap<String, String>) {
        self.job_env = job_env;
    }

    /// Returns the environment of a call, in which later entries win, and the job variables that do not fit.
    pub(crate) fn of_call<'v>(
        &self,
        variables: &'v StageVariables,
    ) -> (Vec<(OsString, OsString)>, Vec<&'v str>) {
        let mut all = self.common.clone();
        let job_env = self.job_env.iter();
        all.extend(job_env.map(|(name, value)| (name.into(), value.into())));
        let plain = variables.environment.iter();
        let plain = plain.map(|(name, value)| (name.as_str(), value.as_bytes()));
        let files = variables.files.iter();
        let files = files.map(|file| (file.key.as_str(), file.content.as_slice()));
        let services = [("CI_JOB_SERVICES", self.services.as_bytes())];
        let mut left_out = Vec::new();
        // The file with exported variables is the scripts' alone.
        for (name, value) in plain
            .chain(files)
            .filter(|(name, _)| *name != shells::ENV_FILE)
            .chain(services)
        {
            let name_of_driver = format!("{PREFIX}{name}");
            if fits(&name_of_driver, value) {
                let value = OsStr::from_bytes(value).to_owned();
                all.push((name_of_driver.into(), value));
            } else {
                left_out.push(name);
            }
        }
        (all, left_out)
    }
}

impl std::fmt::Debug for DriverEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DriverEnvironment").finish_non_exhaustive()
    }
}

/// Returns whether a process environment can hold a variable.
pub(crate) fn fits(name: &str, value: &[u8]) -> bool {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    is_name && !value.contains(&0) && name.len() + value.len() + 2 <= MAX_ENVIRONMENT_ENTRY
}

/// Returns the job's variables for calls before its stages; without `dirs`, its directories are not known yet.
pub(crate) fn before_stages(variables: &JobVariables, dirs: Option<&BuildDirs>) -> StageVariables {
    let literal = |key: &str, value: &str| JobVariable {
        raw: true,
        ..JobVariable::public(key, value)
    };
    let of_dirs = |part: fn(&BuildDirs) -> &String| dirs.map_or("", |dirs| part(dirs).as_str());
    let temp_dir = dirs.map_or(UNKNOWN_TEMP_DIR, |dirs| dirs.temp_dir.as_str());
    let mut all = variables.clone();
    all.push(literal("CI_SHARED_ENVIRONMENT", "true"));
    all.push(literal("CI_BUILDS_DIR", of_dirs(|dirs| &dirs.builds_dir)));
    all.push(literal(
        shells::PROJECT_DIR,
        of_dirs(|dirs| &dirs.project_dir),
    ));
    all.push(literal(shells::TEMP_DIR, temp_dir));
    let look_up = |name: &str| {
        let variable = all.variable(name)?;
        Some(if variable.file {
            Cow::Owned(format!("{temp_dir}/{name}"))
        } else {
            Cow::Borrowed(variable.value.as_str())
        })
    };
    let mut stage = StageVariables::default();
    for variable in &all {
        let JobVariable { key, value, .. } = variable;
        if variable.file {
            stage.files.push(FileVariable {
                key: key.clone(),
                content: value.clone().into_bytes(),
            });
            continue;
        }
        let expanded = if variable.raw {
            Cow::Borrowed(value.as_str())
        } else {
            // A value that would become too long stays as it is; the stages report it.
            expand_within(LONGEST_VALUE, value, look_up).unwrap_or(Cow::Borrowed(value))
        };
        stage.environment.push((key.clone(), expanded.into_owned()));
    }
    stage
}
