//! The variables of a job: those that the runner adds, their order, and the variables of each stage.

use executor_core::job::Job;
use executor_core::variable::{
    JobVariable, JobVariables, LONGEST_VALUE, MAX_ENVIRONMENT_ENTRY, TooLong, expand_within,
};
use executor_core::{
    BuildError, FileVariable, JobSlot, JobState, PreparedEnvironment, RunnerConfig, StageVariables,
};
use jiff::Timestamp;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Facts for predefined variables that are not in the job.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) config: &'a RunnerConfig,
    pub(crate) slot: JobSlot,
    pub(crate) timeout: Duration,
    pub(crate) version: &'a str,
    pub(crate) revision: &'a str,
    pub(crate) started_at: Timestamp,
}

/// Returns the job's variables that are known before there is an environment.
///
/// In ascending precedence: the runner's own, the operator's, the job's, and those that no job may change.
///
/// # Errors
///
/// [`BuildError::Config`] names a variable that cannot be in a process environment.
pub(crate) fn of_job(job: &Job, facts: &Facts<'_>) -> Result<JobVariables, BuildError> {
    let mut variables = JobVariables::new();
    // Drivers take a variable that exists for an image, also if it is empty.
    if !job.image.name.is_empty() {
        // The image's name may have references, which are expanded as in other values of the job.
        variables.push(JobVariable::public("CI_JOB_IMAGE", &job.image.name));
    }
    let mut public = |key: &str, value: String| {
        variables.push(literal(key, value));
    };
    public(
        "CI_RUNNER_SHORT_TOKEN",
        facts.config.short_token().to_owned(),
    );
    public("CI_CONCURRENT_ID", facts.slot.concurrent_id.to_string());
    let concurrent_project_id = facts.slot.concurrent_project_id;
    public(
        "CI_CONCURRENT_PROJECT_ID",
        concurrent_project_id.to_string(),
    );
    public("CI_RUNNER_ID", "0".to_owned());
    public("CI_RUNNER_DESCRIPTION", facts.config.name.clone());
    public("CI_RUNNER_TAGS", list(&facts.config.tags));
    public("CI_JOB_STARTED_AT", format!("{:.0}", facts.started_at));
    public("CI_SERVER", "yes".to_owned());
    public("CI_JOB_STATUS", JobState::Running.as_str().to_owned());
    public("CI_JOB_TIMEOUT", facts.timeout.as_secs().to_string());
    variables.extend(facts.config.environment.iter().cloned());
    variables.extend(job.variables.iter().cloned());
    variables.push(literal("CI_RUNNER_VERSION", facts.version.to_owned()));
    variables.push(literal("CI_RUNNER_REVISION", facts.revision.to_owned()));
    variables.push(literal("CI_RUNNER_EXECUTABLE_ARCH", platform()));
    variables.iter().try_for_each(check)?;
    Ok(variables)
}

/// Adds the variables of the environment.
///
/// The directories override variables of the job with the same names, because scripts rely on them.
///
/// # Errors
///
/// As [`of_job`], for a variable of the environment.
pub(crate) fn in_environment(
    mut variables: JobVariables,
    environment: &PreparedEnvironment,
) -> Result<JobVariables, BuildError> {
    let dirs = environment.workspace.dirs();
    let kind = if dirs.shared {
        "CI_SHARED_ENVIRONMENT"
    } else {
        "CI_DISPOSABLE_ENVIRONMENT"
    };
    variables.push(literal(kind, "true".to_owned()));
    variables.push(literal("CI_BUILDS_DIR", dirs.builds_dir.clone()));
    variables.push(literal(shells::PROJECT_DIR, dirs.project_dir.clone()));
    variables.push(literal(shells::TEMP_DIR, dirs.temp_dir.clone()));
    let env_file = format!("{}/{}", dirs.temp_dir, shells::ENV_FILE_NAME);
    variables.push(literal(shells::ENV_FILE, env_file));
    variables.extend(environment.variables.iter().cloned());
    environment.variables.iter().try_for_each(check)?;
    Ok(variables)
}

/// Returns the [`expanded`] variables for a stage, with `status` as `CI_JOB_STATUS`.
///
/// # Errors
///
/// [`BuildError::Config`] names a value that is too long for a process's environment.
pub(crate) fn for_stage(
    expanded: &JobVariables,
    status: &str,
) -> Result<Arc<StageVariables>, BuildError> {
    let mut stage = StageVariables::default();
    for variable in expanded {
        let JobVariable { key, value, .. } = variable;
        if variable.masked {
            stage.masked.push(key.clone());
        }
        if variable.file {
            let content = value.clone().into_bytes();
            stage.files.push(FileVariable {
                key: key.clone(),
                content,
            });
            continue;
        }
        let value = if key == "CI_JOB_STATUS" {
            status
        } else {
            value
        };
        if key.len() + value.len() + 2 > MAX_ENVIRONMENT_ENTRY {
            return Err(BuildError::config(format!(
                "variable {key} has {} bytes, more than the {} that a process accepts; \
                 make it a file variable",
                value.len(),
                MAX_ENVIRONMENT_ENTRY - key.len() - 2,
            )));
        }
        stage.environment.push((key.clone(), value.to_owned()));
    }
    Ok(Arc::new(stage))
}

/// Returns the variables with their references expanded once by [`expand`].
///
/// # Errors
///
/// [`BuildError::Config`] names a value that becomes longer than [`LONGEST_VALUE`].
pub(crate) fn expanded(
    variables: &JobVariables,
    temp_dir: Option<&str>,
) -> Result<JobVariables, BuildError> {
    let expand = |variable: &JobVariable| {
        let value = expanded_value(variables, temp_dir, variable)?.into_owned();
        Ok(JobVariable {
            key: variable.key.clone(),
            value,
            ..*variable
        })
    };
    variables.iter().map(expand).collect()
}

/// Checks before anything is prepared that no value becomes too long.
///
/// # Errors
///
/// As [`expanded`].
pub(crate) fn check_lengths(variables: &JobVariables) -> Result<(), BuildError> {
    let mut all = variables.iter();
    all.try_for_each(|variable| expanded_value(variables, None, variable).map(drop))
}

/// Returns the expanded value of one variable.
///
/// # Errors
///
/// As [`expanded`].
pub(crate) fn expanded_value<'v>(
    variables: &JobVariables,
    temp_dir: Option<&str>,
    variable: &'v JobVariable,
) -> Result<Cow<'v, str>, BuildError> {
    if variable.raw || variable.file {
        return Ok(Cow::Borrowed(&variable.value));
    }
    let what = || format!("variable {}", variable.key);
    expand(variables, temp_dir, &what, &variable.value)
}

/// Replaces the references in a text of the job. This is the only place where a job's texts are expanded.
///
/// A reference to a file variable becomes the file's path, so that its content does not get into a text that
/// is not masked. Without a `temp_dir`, before there is an environment, it becomes empty.
///
/// # Errors
///
/// [`BuildError::Config`] says that `what` becomes longer than [`LONGEST_VALUE`].
pub(crate) fn expand<'t>(
    variables: &JobVariables,
    temp_dir: Option<&str>,
    what: &dyn Fn() -> String,
    text: &'t str,
) -> Result<Cow<'t, str>, BuildError> {
    let look_up = |name: &str| {
        let variable = variables.variable(name)?;
        if variable.file {
            return temp_dir.map(|directory| Cow::Owned(format!("{directory}/{name}")));
        }
        Some(Cow::Borrowed(variable.value.as_str()))
    };
    expand_within(LONGEST_VALUE, text, look_up).map_err(|TooLong { limit }| {
        BuildError::config(format!(
            "{} is longer than {limit} bytes once its references are replaced",
            what()
        ))
    })
}

/// Returns a variable of the runner: not masked, and with a value that is not expanded.
fn literal(key: &str, value: String) -> JobVariable {
    JobVariable {
        raw: true,
        ..JobVariable::public(key, value)
    }
}

/// Returns texts in GitLab's notation for lists: `["a", "b"]`.
fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", quoted.join(", "))
}

/// Returns the name that Go has for this platform, as in GitLab's variable.
fn platform() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        arch => arch,
    };
    format!("{os}/{arch}")
}

/// Checks that a variable can be in a process environment, or be a file.
pub(crate) fn check(variable: &JobVariable) -> Result<(), BuildError> {
    let name = &variable.key;
    let refuse = |why: &str| Err(BuildError::config(format!("variable name {name:?} {why}")));
    if name.is_empty() {
        return refuse("is empty");
    }
    for (character, spoken) in [
        ('=', "an equals sign"),
        ('\n', "a newline"),
        ('\0', "a NUL"),
    ] {
        if name.contains(character) {
            return refuse(&format!("contains {spoken}"));
        }
    }
    if variable.file && (name.contains('/') || name == "." || name == "..") {
        return refuse("cannot be the name of a file");
    }
    if !variable.file && variable.value.contains('\0') {
        return Err(BuildError::config(format!(
            "the value of variable {name} contains a NUL; make it a file variable"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::{BuildDirs, ShellDialect, ShellInfo, Workspace};

    fn job_with(variables: Vec<JobVariable>) -> Job {
        Job {
            variables,
            ..Job::default()
        }
    }

    fn variables_of(job: &Job) -> Result<JobVariables, BuildError> {
        let mut config = RunnerConfig::new("r", "shell");
        config.environment = vec![JobVariable::public("FROM_CONFIG", "config")];
        config.tags = vec!["linux".to_owned(), "a \"b\"".to_owned()];
        let facts = Facts {
            config: &config,
            slot: JobSlot {
                concurrent_id: 3,
                concurrent_project_id: 1,
            },
            timeout: Duration::from_mins(10),
            version: "1.2.3",
            revision: "abc",
            started_at: Timestamp::from_second(981_173_106).expect("a moment"),
        };
        of_job(job, &facts)
    }

    fn stage_of(job: &Job, status: &str) -> Result<Arc<StageVariables>, BuildError> {
        let variables = variables_of(job).expect("valid");
        for_stage(&expanded(&variables, Some("/t"))?, status)
    }

    fn environment() -> PreparedEnvironment {
        let dirs = BuildDirs {
            builds_dir: "/b".to_owned(),
            cache_dir: "/c".to_owned(),
            project_dir: "/b/p".to_owned(),
            temp_dir: "/b/p.tmp".to_owned(),
            shared: true,
        };
        PreparedEnvironment {
            shell: ShellInfo::new(ShellDialect::Sh),
            workspace: Workspace::Local(dirs),
            hostname: "host".to_owned(),
            variables: Vec::new(),
        }
    }

    #[test]
    fn stage_lists_its_masked_variables() {
        let job = job_with(vec![
            JobVariable::masked("TOKEN", "tiger"),
            JobVariable::public("PLAIN", "$TOKEN"),
        ]);
        let stage = stage_of(&job, "running").expect("valid");
        let is_masked = |name: &str| stage.masked.iter().any(|masked| masked == name);
        assert!(is_masked("TOKEN") && !is_masked("PLAIN"), "{stage:?}");
    }

    #[test]
    fn job_overrides_the_runner_except_its_directories() {
        let job = job_with(vec![
            JobVariable::public("FROM_CONFIG", "job"),
            JobVariable::public("CI_PROJECT_DIR", "/elsewhere"),
            JobVariable::public("CI_RUNNER_VERSION", "0"),
            JobVariable::public("CI_RUNNER_ID", "7"),
        ]);
        let variables = variables_of(&job).expect("valid");
        let variables = in_environment(variables, &environment()).expect("valid");
        let check = |key, expect| assert_eq!(variables.get(key), Some(expect), "{key}");
        check("FROM_CONFIG", "job");
        check("CI_PROJECT_DIR", "/b/p");
        check("CI_BUILDS_DIR", "/b");
        check("RUNNER_TEMP_PROJECT_DIR", "/b/p.tmp");
        check("GITLAB_ENV", "/b/p.tmp/gitlab_runner_env");
        check("CI_CONCURRENT_ID", "3");
        check("CI_CONCURRENT_PROJECT_ID", "1");
        check("CI_JOB_TIMEOUT", "600");
        check("CI_RUNNER_VERSION", "1.2.3");
        check("CI_SHARED_ENVIRONMENT", "true");
        check("CI_SERVER", "yes");
        check("CI_RUNNER_ID", "7");
        check("CI_RUNNER_DESCRIPTION", "r");
        check("CI_RUNNER_TAGS", r#"["linux", "a \"b\""]"#);
        check("CI_JOB_STARTED_AT", "2001-02-03T04:05:06Z");
    }

    #[test]
    fn invalid_names_are_refused() {
        let check = |variable: JobVariable| {
            let error = variables_of(&job_with(vec![variable])).expect_err("refused");
            assert!(matches!(error, BuildError::Config { .. }), "{error}");
        };
        for name in ["", "A=B", "A\nB", "A\0"] {
            check(JobVariable::public(name, "x"));
        }
        check(JobVariable::public("A", "x\0"));
        check(JobVariable::file("../A", "x"));
        check(JobVariable::file("..", "x"));
    }

    #[test]
    fn file_variables_are_referred_to_by_path() {
        let job = job_with(vec![
            JobVariable::file("KEY", "secret $A"),
            JobVariable::public("A", "1"),
            JobVariable::public("USES", "$A ${KEY} $$A"),
            JobVariable {
                raw: true,
                ..JobVariable::public("RAW", "$A")
            },
        ]);
        let stage = stage_of(&job, "failed").expect("valid");
        assert_eq!(stage.get("USES"), Some("1 /t/KEY $A"));
        assert_eq!(stage.get("RAW"), Some("$A"));
        assert_eq!(stage.get("CI_JOB_STATUS"), Some("failed"));
        assert_eq!(stage.get("KEY"), None);
        assert_eq!(stage.files[0].content, b"secret $A");
    }

    #[test]
    fn file_content_is_never_expanded() {
        let variables: JobVariables = [
            JobVariable::file("KEY", "secret"),
            JobVariable::public("A", "1"),
        ]
        .into_iter()
        .collect();
        let expanded = |temp_dir| {
            let what = || "a path".to_owned();
            let text = expand(&variables, temp_dir, &what, "$A:$KEY").expect("short");
            text.into_owned()
        };
        assert_eq!(expanded(Some("/t")), "1:/t/KEY");
        assert_eq!(expanded(None), "1:");
    }

    #[test]
    fn exploding_value_is_refused() {
        let mut variables = vec![JobVariable::public("V0", "x".repeat(64))];
        variables.push(JobVariable::public(
            "BOMB",
            "$V0".repeat(LONGEST_VALUE / 64 + 1),
        ));
        let error = stage_of(&job_with(variables), "running").expect_err("too long");
        assert!(matches!(error, BuildError::Config { .. }), "{error:?}");
        assert!(error.to_string().contains("variable BOMB"), "{error}");
    }

    #[test]
    fn too_long_value_is_refused_with_a_hint() {
        let longest = MAX_ENVIRONMENT_ENTRY - "BIG".len() - 2;
        let of_length = |length| {
            let job = job_with(vec![JobVariable::public("BIG", "x".repeat(length))]);
            stage_of(&job, "running")
        };
        assert!(of_length(longest).is_ok());
        let error = of_length(longest + 1).expect_err("too long");
        assert!(error.to_string().contains("file variable"), "{error}");
    }
}
