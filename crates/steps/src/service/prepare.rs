//! From a message to a request that can run: everything that can be refused is refused here.

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
use super::error::words;
use super::payload::Steps;
use super::request::{Request, RequestCommand, RequestLog};
use super::shell;
use super::variable_files::{VariableFiles, Writers};
use super::variables::Expanded;
use super::wishes::Wishes;
use crate::language::Value;
use crate::wire::v1::{self, RunRequest};

/// What the service knows of its own surroundings.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// The directory of all requests' directories.
    pub(crate) requests: PathBuf,
    /// What steps see of the service's own environment.
    pub(crate) inherited: Vec<(OsString, OsString)>,
    /// All of it, for references.
    pub(crate) environment: process::Environment,
    /// Who wrote file variables where nobody said where they are to lie.
    pub(crate) writers: Arc<Writers>,
    pub(crate) timing: Timing,
    /// How long a wish waits for somebody who follows.
    pub(crate) wish_within: Duration,
}

/// What a request is about to do.
pub(crate) struct Plan {
    pub(crate) steps: Steps,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// The job's variables, as expressions see them.
    pub(crate) vars: BTreeMap<String, Value>,
    pub(crate) timing: Timing,
    pub(crate) timeout: Option<Duration>,
    pub(crate) quiet: bool,
}

impl Surroundings {
    /// Makes a request of a message. Blocks for as long as small files take.
    ///
    /// # Errors
    ///
    /// Says what is wrong; then nothing of the request is left but the directories it named.
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
            .map_err(|error| broken("make the working directory", &work_dir, &error))?;
        // A directory that the request names has an owner who removes what is in it.
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
        .map_err(|error| broken("make a directory in", &self.requests, &error))?;
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
            RequestCommand {
                words: command,
                work_dir,
            },
            RequestLog {
                pipeline: log,
                reader,
            },
            names,
            Wishes::new(self.wish_within),
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

/// Returns an absolute path; the service's own directory where nothing is given.
fn absolute_dir(path: &str) -> Result<PathBuf, Status> {
    if path.contains('\0') {
        return Err(Status::invalid_argument(
            "a directory's path holds a NUL byte",
        ));
    }
    let path = if path.is_empty() { "." } else { path };
    let path = absolute(path).map_err(|error| broken("find directory", Path::new(path), &error))?;
    Ok(path.components().collect())
}

/// Returns where file variables are written: beside the working directory, with `.tmp` appended.
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

/// Returns the command for scripts; nothing where there is no shell, and none is needed for certain.
fn command(given: Option<v1::Shell>, is_needed: bool) -> Result<Vec<String>, Status> {
    let argv = given.unwrap_or_default().argv;
    if argv.iter().any(|word| word.contains('\0')) {
        return Err(Status::invalid_argument(
            "the shell's command holds a NUL byte",
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
            "variable `{key}` has a name or a value that no environment can hold"
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
    Status::internal(words(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_variables_lie_beside_the_working_directory() {
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
    fn zero_stands_for_the_own_patience() {
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
