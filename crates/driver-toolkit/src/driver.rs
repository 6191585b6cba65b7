//! A driver: what it implements, and the program around it.

use crate::cleanup::Cleanup;
use crate::context::JobContext;
use crate::failure::{ExitCodes, Failure};
use crate::remote::{Ended, OwnStreams, Target};
use crate::serve;
use crate::stop::{Stage, Stop};
use crate::store::{Record, Store};
use serde::Serialize;
use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

/// Longer than any job.
pub(crate) const UNLIMITED: Duration = Duration::from_hours(24 * 365);

/// Gives jobs an environment.
///
/// One value serves one job when a runner of the custom-executor protocol starts the program for each stage, and many jobs
/// at the same time when it serves the typed driver protocol. All that must outlive a stage is in the [`Record`].
pub trait Driver: Sync {
    /// Returns where jobs have their directories, and more that a runner asks for. It sends no request.
    ///
    /// # Errors
    ///
    /// When the settings or the job are invalid.
    fn config(&self, job: &JobContext) -> Result<DriverConfig, Failure>;

    /// Returns the directory with the states of jobs.
    fn store(&self) -> &Store;

    /// Returns the name of the environment of a job, the same in each stage.
    ///
    /// # Errors
    ///
    /// When the job lacks what the name is made of.
    fn name(&self, job: &JobContext) -> Result<String, Failure> {
        job.resource_name("ci")
    }

    /// Creates the environment of a job, or finds the one that an earlier attempt has created.
    ///
    /// # Errors
    ///
    /// Whatever fails. `cleanup` is called afterwards.
    fn prepare(
        &self,
        name: &str,
        job: &JobContext,
        record: &Record,
        stage: &Stage<'_>,
    ) -> Result<(), Failure>;

    /// Returns the place where a script of the prepared job runs. `script` is the name of the script's stage, as
    /// `get_sources` or `build_script`.
    ///
    /// # Errors
    ///
    /// When the environment is gone or cannot be reached.
    fn connect(
        &self,
        name: &str,
        script: &str,
        record: &Record,
        stage: &Stage<'_>,
    ) -> Result<Box<dyn Target>, Failure>;

    /// Removes the environment of a job, also when `record` has no state or a damaged one. The state is removed afterwards.
    fn cleanup(&self, name: &str, record: &Record, cleanup: &mut Cleanup<'_>);

    /// Returns whether the environment of this job is kept for a look at it. Default: never.
    ///
    /// The variable `CI_JOB_STATUS` has the result; in the typed driver protocol, the job has failed when its script has.
    fn keeps(&self, _job: &JobContext) -> bool {
        false
    }

    /// Returns how many environments there may be at the same time. Default: not known.
    ///
    /// With it, a runner of the typed driver protocol asks for no more jobs than that at once, and `prepare` need not wait for room that
    /// other jobs of the same runner take.
    fn capacity(&self) -> Option<usize> {
        None
    }

    /// Returns how long the stages may take.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// How long the stages may take. A runner has limits of its own, an hour each by default.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest `prepare`. Default: 59 minutes.
    pub prepare: Duration,
    /// The longest `cleanup`. Default: 5 minutes.
    pub cleanup: Duration,
    /// How long a stage waits for another stage of the same job. Default: 5 minutes.
    pub lock: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            prepare: Duration::from_mins(59),
            cleanup: Duration::from_mins(5),
            lock: Duration::from_mins(5),
        }
    }
}

/// The answer to `config`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DriverConfig {
    /// The name and version of the driver, for the log.
    pub driver: Identity,
    /// The machine, for the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Where jobs have their directories: an absolute path in the environment.
    pub builds_dir: String,
    /// Where jobs have their caches: an absolute path in the environment.
    pub cache_dir: String,
    /// Whether jobs that run at the same time share `builds_dir`.
    pub builds_dir_is_shared: bool,
    /// The shell that runs the scripts: `bash` or `sh`.
    pub shell: String,
    /// Variables of later stages. Users cannot set these.
    pub job_env: BTreeMap<String, String>,
}

/// The name and version of a driver.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What the program was started for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Call {
    Config,
    Prepare,
    Run { script: String, stage: String },
    Cleanup,
    Sweep { older_than: Duration },
    Serve,
}

const USAGE: &str = "expected `config`, `prepare`, `run SCRIPT STAGE` or `cleanup` as called by a runner, `serve` for the \
                     typed driver protocol, or `sweep SECONDS` to remove what jobs have left that began earlier";

impl Call {
    /// Reads the words at the end of the arguments, and returns those before: the operator's (`run_args`).
    fn read(arguments: &[String]) -> Result<(Self, &[String]), Failure> {
        let usage = || Failure::system(USAGE);
        match arguments {
            [operators @ .., name, script, stage] if name == "run" => {
                let (script, stage) = (script.clone(), stage.clone());
                Ok((Self::Run { script, stage }, operators))
            }
            [operators @ .., name, seconds] if name == "sweep" => {
                let invalid =
                    |_| Failure::system(format!("invalid age {seconds:?}: expected seconds"));
                let older_than = Duration::from_secs(seconds.parse().map_err(invalid)?);
                Ok((Self::Sweep { older_than }, operators))
            }
            [operators @ .., name] => {
                let call = match name.as_str() {
                    "config" => Self::Config,
                    "prepare" => Self::Prepare,
                    "cleanup" => Self::Cleanup,
                    "serve" => Self::Serve,
                    _ => return Err(usage()),
                };
                Ok((call, operators))
            }
            [] => Err(usage()),
        }
    }
}

/// Runs a driver as the program that a runner calls, and returns its exit code: 0, or one of the two that a runner expects.
///
/// `new` reads the settings of the operator from the [`JobContext`]; it runs before anything else. A panic is a failure
/// of the system. `SIGTERM` ends `prepare`, is passed on to the script in `run`, and does not disturb `cleanup`.
pub fn main<D: Driver>(new: impl FnOnce(&JobContext) -> Result<D, Failure>) -> ExitCode {
    ExitCode::from(exit_code(new))
}

fn exit_code<D: Driver>(new: impl FnOnce(&JobContext) -> Result<D, Failure>) -> u8 {
    let codes = ExitCodes::from_env();
    let mut context = JobContext::from_env();
    let file = context.exit_code_file();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let arguments: Vec<_> = env::args_os()
            .skip(1)
            .map(|it| it.to_string_lossy().into_owned())
            .collect();
        let (call, operators) = Call::read(&arguments)?;
        context.arguments = operators.to_vec();
        perform(&call, &new(&context)?, &context)
    }));
    let result = result.unwrap_or_else(|panic| Err(Failure::panicked(&*panic)));
    if let Err(failure) = &result {
        error_line(&failure.to_string());
    }
    codes
        .report(&result, file.as_deref())
        .unwrap_or_else(|failure| {
            error_line(&failure.to_string());
            codes.system_failure
        })
}

/// Prints a line on standard output. A reader that has gone is not an error.
fn output_line(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints a line on standard error. A reader that has gone is not an error.
pub(crate) fn error_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn perform<D: Driver>(call: &Call, driver: &D, context: &JobContext) -> Result<Ended, Failure> {
    let stop = Stop::new();
    let limits = driver.limits();
    if *call != Call::Config {
        let installed = stop.on_signals();
        installed.map_err(|error| Failure::system(format!("handle signals: {error}")))?;
    }
    let done = Ok(Ended::Exited(0));
    match call {
        Call::Config => {
            let config = driver.config(context)?;
            let text = serde_json::to_string(&config).map_err(Failure::system)?;
            let printed = writeln!(io::stdout(), "{text}");
            printed
                .map_err(|error| Failure::system(format!("print the configuration: {error}")))?;
            done
        }
        Call::Prepare => {
            let stage = Stage::new(&stop, limits.prepare, &output_line);
            let name = driver.name(context)?;
            let record = driver.store().lock(&name, limits.lock, &stage)?;
            driver.prepare(&name, context, &record, &stage)?;
            done
        }
        Call::Run {
            script,
            stage: script_stage,
        } => {
            let opened = File::open(script);
            let mut input =
                opened.map_err(|error| Failure::system(format!("open {script}: {error}")))?;
            let stage = Stage::new(&stop, UNLIMITED, &error_line);
            let name = driver.name(context)?;
            let config = driver.config(context)?;
            let record = driver.store().lock(&name, limits.lock, &stage)?;
            let target = driver.connect(&name, script_stage, &record, &stage)?;
            // A cleanup may come while the script runs.
            drop(record);
            target.exec(&config.shell, &mut input, &OwnStreams, &stage)
        }
        Call::Cleanup => {
            let name = driver.name(context)?;
            if driver.keeps(context) {
                error_line(&format!("{name} is kept, since the job has failed"));
                return done;
            }
            // What asks this stage to stop is over when it ends.
            let never = Stop::new();
            // A runner takes each line of standard error for a warning. The failure, with all that is left, goes there.
            let stage = Stage::new(&never, limits.cleanup, &output_line);
            let record = driver.store().lock(&name, limits.lock, &stage)?;
            clean_up(driver, &name, &record, stage)?;
            record.remove()?;
            done
        }
        Call::Sweep { older_than } => {
            let stage = Stage::new(&stop, UNLIMITED, &error_line);
            sweep(driver, *older_than, &stage)?;
            done
        }
        Call::Serve => {
            serve::serve(driver, context)?;
            done
        }
    }
}

/// Removes an environment, and its state unless something is left, so that a sweep finds it.
pub(crate) fn clean_up<D: Driver>(
    driver: &D,
    name: &str,
    record: &Record,
    stage: Stage<'_>,
) -> Result<(), Failure> {
    let mut cleanup = Cleanup::new(stage);
    let steps = || driver.cleanup(name, record, &mut cleanup);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(steps)) {
        cleanup.leave(Failure::panicked(&*panic).to_string());
    }
    cleanup.finish()
}

/// Removes the environments whose state was stored longer ago than `older_than`, of jobs that no stage works for.
///
/// # Errors
///
/// When the states cannot be listed, or something is left.
pub(crate) fn sweep<D: Driver>(
    driver: &D,
    older_than: Duration,
    stage: &Stage<'_>,
) -> Result<(), Failure> {
    let mut failed = Vec::new();
    for name in driver.store().names()? {
        let Some(record) = driver.store().try_lock(&name)? else {
            continue;
        };
        if record.age().is_none_or(|age| age < older_than) {
            continue;
        }
        stage.log(format!("remove {name}"));
        let stage = stage.with_limit(driver.limits().cleanup);
        let removed = clean_up(driver, &name, &record, stage).and_then(|()| record.remove());
        if let Err(failure) = removed {
            failed.push(format!("{name}: {failure}"));
        }
        stage.stop.sleep(Duration::ZERO)?;
    }
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(Failure::system(failed.join("\n"))),
    }
}

#[cfg(test)]
mod tests;
