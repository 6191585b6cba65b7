//! Turns a message into a request that can run. Everything that can be refused is refused here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use fail_point::fail_point;
use process::Timing;
use tonic::Status;
use trace::{MaskRules, Spool, TracePipeline};

use super::directory::{Directory, check_id};
use super::host_requests::HostRequests;
use super::payload::Steps;
use super::request::{Request, RequestCommand, RequestLog};
use super::shell;
use super::variable_files::{VariableFiles, Writers};
use super::variables::Expanded;
use crate::language::Value;
use crate::wire::v1::{self, RunRequest};
use executor_core::chain;

/// The context of a service.
#[derive(Debug)]
pub(crate) struct ServiceContext {
    /// The parent of the requests' directories.
    pub(crate) requests: PathBuf,
    /// The part of the service's environment that steps inherit.
    pub(crate) inherited: Vec<(OsString, OsString)>,
    /// The whole environment, for references.
    pub(crate) environment: process::Environment,
    /// The owners of file variables in default directories.
    pub(crate) writers: Arc<Writers>,
    pub(crate) timing: Timing,
    /// How long a host request waits for a follower.
    pub(crate) host_timeout: Duration,
}

/// What a request will run.
pub(crate) struct Plan {
    pub(crate) steps: Steps,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// The job's variables, for expressions.
    pub(crate) vars: BTreeMap<String, Value>,
    pub(crate) timing: Timing,
    pub(crate) timeout: Option<Duration>,
    pub(crate) quiet: bool,
}

impl ServiceContext {
    /// Creates a request from a message. Blocks while small files are written.
    ///
    /// # Errors
    ///
    /// When the message is invalid. Then nothing is left of the request, except the directories that it named.
    pub(crate) fn prepare(&self, message: RunRequest) -> Result<(Request, Plan), Status> {
        check_id(&message.id)?;
        let steps = Steps::read(&message.steps, message.verbatim).map_err(|wrong| {
            Status::invalid_argument(format!("the steps of the request: {wrong}"))
        })?;
        let job = message.job.unwrap_or_default();
        let command = command(message.shell, steps.have_scripts())?;
        let work_dir = first_of([&job.build_dir, &message.work_dir]);
        let work_dir = absolute_dir(work_dir)?;
        let temp_dir = temp_dir(&work_dir, &message.temp_dir)?;

        let outer = |name: &str| {
            let passed = message.env.get(name).cloned();
            passed.or_else(|| self.environment.get(name)?.to_str().map(str::to_owned))
        };
        let variables = Expanded::new(job.variables, &temp_dir, outer)?;
        for (key, value) in &message.env {
            check_variable(key, value)?;
        }
        let masks = masks(&message.masking.unwrap_or_default(), &job.token_prefixes);
        let masks = variables.mask(masks);
        make_dir(&work_dir)
            .map_err(|error| broken("create the working directory", &work_dir, &error))?;
        // If the request names a directory, its owner removes the files in it.
        let files = message
            .temp_dir
            .is_empty()
            .then(|| VariableFiles::claim(&self.writers, &temp_dir, variables.file_paths()));
        fail_point!("steps::variables::write", variables.write_files(&temp_dir))
            .map_err(|error| broken("write file variables to", &temp_dir, &error))?;

        let mut env = self.inherited.clone();
        let passed = message.env.into_iter();
        env.extend(passed.map(|(key, value)| (key.into(), value.into())));
        let vars = variables.values();
        env.extend(variables.env);

        let mut directory = fail_point!(
            "steps::directory::create",
            Directory::create(&self.requests, &message.id)
        )
        .map_err(|error| broken("create a directory in", &self.requests, &error))?;
        if let Some(files) = files {
            directory.take_files(files);
        }
        let spool = Spool::create(directory.log()).map_err(|error| log_error(&error))?;
        let reader = spool.reader().map_err(|error| log_error(&error))?;
        let log = TracePipeline::builder().masks(masks).spool(spool).start();

        let names = steps.names();
        let work_dir = work_dir.display().to_string();
        let mut request = Request::new(
            message.id,
            directory,
            RequestCommand { command, work_dir },
            RequestLog { log, reader },
            names,
            HostRequests::new(self.host_timeout),
        );
        let asked = message.timing.unwrap_or_default();
        let plan = Plan {
            steps,
            env,
            vars,
            timing: timing(&self.timing, &asked),
            timeout: (asked.timeout_ms > 0).then(|| Duration::from_millis(asked.timeout_ms)),
            quiet: message.quiet,
        };
        request.limited = plan.timeout.is_some();
        Ok((request, plan))
    }
}

fn first_of(texts: [&String; 2]) -> &str {
    let mut given = texts.into_iter().filter(|text| !text.is_empty());
    given.next().map_or("", String::as_str)
}

/// Returns an absolute path; without one, the service's own directory.
fn absolute_dir(path: &str) -> Result<PathBuf, Status> {
    if path.contains('\0') {
        return Err(Status::invalid_argument(
            "the path of a directory contains a NUL byte",
        ));
    }
    let path = if path.is_empty() { "." } else { path };
    let path = absolute(path).map_err(|error| broken("find directory", Path::new(path), &error))?;
    Ok(path.components().collect())
}

/// Returns the directory for file variables, by default the working directory with `.tmp` appended.
fn temp_dir(work_dir: &Path, given: &str) -> Result<PathBuf, Status> {
    if !given.is_empty() {
        return absolute_dir(given);
    }
    let mut path = work_dir.as_os_str().to_owned();
    path.push(".tmp");
    Ok(path.into())
}

fn make_dir(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Returns the command for scripts; empty if there is no shell and none is certainly needed.
fn command(given: Option<v1::Shell>, is_needed: bool) -> Result<Vec<String>, Status> {
    let argv = given.unwrap_or_default().argv;
    if argv.iter().any(|word| word.contains('\0')) {
        return Err(Status::invalid_argument(
            "the command of the shell contains a NUL byte",
        ));
    }
    match argv.first() {
        Some(program) if program.is_empty() => {
            Err(Status::invalid_argument("the shell has no program"))
        }
        Some(_) => Ok(argv),
        None => match shell::command(&shell::present()) {
            None if is_needed => Err(Status::failed_precondition(shell::MISSING)),
            command => Ok(command.unwrap_or_default()),
        },
    }
}

fn check_variable(key: &str, value: &str) -> Result<(), Status> {
    if key.is_empty() || key.contains(['=', '\0']) || value.contains('\0') {
        let key: String = key.chars().filter(|c| !c.is_control()).take(64).collect();
        return Err(Status::invalid_argument(format!(
            "variable `{key}` has a name or value that no environment can hold"
        )));
    }
    Ok(())
}

fn masks(masking: &v1::Masking, more_prefixes: &[String]) -> MaskRules {
    let rules = MaskRules::new().secrets(&masking.phrases);
    let prefixes = masking.token_prefixes.iter().chain(more_prefixes);
    prefixes.fold(rules, MaskRules::token_prefix)
}

fn timing(own: &Timing, asked: &v1::Timing) -> Timing {
    let given = |millis: u64, own: Duration| match millis {
        0 => own,
        millis => Duration::from_millis(millis),
    };
    Timing {
        terminate_grace: given(asked.terminate_grace_ms, own.terminate_grace),
        pipe_grace: given(asked.pipe_grace_ms, own.pipe_grace),
        ..*own
    }
}

fn broken(what: &str, path: &Path, error: &io::Error) -> Status {
    Status::failed_precondition(format!("cannot {what} {}: {error}", path.display()))
}

fn log_error(error: &trace::SpoolError) -> Status {
    Status::internal(chain(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_variables_are_beside_the_working_directory() {
        // R-STEP-34
        let check = |work_dir: &str, given: &str, expect: &str| {
            let path = temp_dir(&absolute_dir(work_dir).unwrap(), given).unwrap();
            assert_eq!(path, Path::new(expect));
        };
        check("/builds/group/project", "", "/builds/group/project.tmp");
        check("/builds/group/project/", "", "/builds/group/project.tmp");
        check("/builds", "/t", "/t");
    }

    #[test]
    fn zero_means_the_default_timing() {
        let own = Timing::default();
        let asked = v1::Timing {
            terminate_grace_ms: 5,
            ..v1::Timing::default()
        };
        let timing = timing(&own, &asked);
        assert_eq!(timing.terminate_grace, Duration::from_millis(5));
        assert_eq!(timing.pipe_grace, own.pipe_grace);
    }
}
