//! A driver for Slurm: the user's scripts are batch jobs, everything else runs on this host.
//!
//! The directories of jobs must be the same on this host and on the nodes. A job chooses its resources with the variable
//! `SLURM_OPTIONS`, as `--partition=long --mem=4G`.

use driver_toolkit::{
    Batch, BatchState, BatchTarget, Cleanup, Driver, DriverConfig, Failure, JobContext, NotReady,
    Record, Stage, State, Store, Target, ThisHost, program,
};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

struct Slurm {
    /// A directory that this host and the nodes share.
    shared: PathBuf,
    store: Store,
}

/// What `run` and `cleanup` need.
#[derive(Serialize, Deserialize)]
struct Job {
    options: Vec<String>,
}

impl State for Job {
    const VERSION: u32 = 1;
}

impl Slurm {
    fn new(context: &JobContext) -> Result<Self, Failure> {
        let shared = context.setting("SLURM_SHARED");
        let shared =
            PathBuf::from(shared.ok_or_else(|| Failure::system("SLURM_SHARED is not set"))?);
        let store = Store::open(shared.join("state"))?;
        Ok(Self { shared, store })
    }

    /// Returns the directory for the files of a job's batch jobs.
    fn batch(&self, name: &str) -> PathBuf {
        self.shared.join("batch").join(name)
    }
}

/// Runs a program of Slurm, and returns its output.
fn call(name: &str, arguments: &[&str]) -> Result<String, Failure> {
    let output = program(name).args(arguments).output();
    let output = output.map_err(|error| Failure::system(format!("start {name}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Failure::system(format!("{name}: {}", text.trim())))
}

/// The batch system, for one job.
struct Queue {
    /// The name of its batch jobs.
    name: String,
    options: Vec<String>,
}

impl Batch for Queue {
    fn submit(&self, script: &Path, log: &Path) -> Result<String, Failure> {
        let log = format!("--output={}", log.display());
        let name = format!("--job-name={}", self.name);
        let mut arguments = vec!["--parsable", "--no-requeue", &log, &name];
        arguments.extend(self.options.iter().map(String::as_str));
        let script = script.display().to_string();
        arguments.push(&script);
        call("sbatch", &arguments)
    }

    fn state(&self, id: &str) -> Result<BatchState, NotReady> {
        let text = call(
            "squeue",
            &["--noheader", "--states=all", "--jobs", id, "--format=%T %r"],
        );
        let text = match text {
            Ok(text) => text,
            // It was forgotten some time after its end.
            Err(failure) if failure.to_string().contains("Invalid job id") => {
                return Ok(BatchState::Ended("unknown".to_owned()));
            }
            Err(failure) => return Err(NotReady::not_yet(failure)),
        };
        let (state, reason) = text.split_once(' ').unwrap_or((&text, ""));
        Ok(match state {
            "PENDING" | "CONFIGURING" | "REQUEUED" => BatchState::Queued(reason.to_owned()),
            "RUNNING" | "COMPLETING" | "SUSPENDED" | "STAGE_OUT" => BatchState::Running,
            _ => BatchState::Ended(state.to_owned()),
        })
    }

    fn cancel(&self, id: &str) -> Result<(), Failure> {
        call("scancel", &[id]).map(|_| ())
    }
}

impl Driver for Slurm {
    fn config(&self, job: &JobContext) -> Result<DriverConfig, Failure> {
        let directory = |kind: &str| format!("{}/{kind}", self.shared.display());
        let name = self.name(job).unwrap_or_default();
        Ok(DriverConfig {
            builds_dir: directory(&format!("builds/{name}")),
            cache_dir: directory("cache"),
            shell: "bash".to_owned(),
            ..DriverConfig::default()
        })
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn prepare(
        &self,
        _name: &str,
        job: &JobContext,
        record: &Record,
        stage: &Stage<'_>,
    ) -> Result<(), Failure> {
        let options = job.variable("SLURM_OPTIONS").unwrap_or_default();
        let options = options.split_whitespace().map(str::to_owned).collect();
        stage.log(call("sinfo", &["--noheader", "--summarize"])?);
        Ok(record.save(&Job { options })?)
    }

    fn connect(
        &self,
        name: &str,
        script: &str,
        record: &Record,
        _stage: &Stage<'_>,
    ) -> Result<Box<dyn Target>, Failure> {
        let Some(Job { options }) = record.load()? else {
            return Err(Failure::system(format!("{name} is not prepared")));
        };
        let is_users =
            script == "build_script" || script == "after_script" || script.starts_with("step_");
        if !is_users {
            return Ok(Box::new(ThisHost));
        }
        let queue = Queue {
            name: name.to_owned(),
            options,
        };
        Ok(Box::new(BatchTarget::new(queue, self.batch(name))))
    }

    fn cleanup(&self, name: &str, _record: &Record, cleanup: &mut Cleanup<'_>) {
        cleanup.step("cancel batch jobs", || {
            Ok(call("scancel", &["--name", name]).map(|_| ())?)
        });
        for directory in [self.shared.join("builds").join(name), self.batch(name)] {
            cleanup.step("remove the directory", || {
                match fs::remove_dir_all(&directory) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        Err(NotReady::not_yet(error))
                    }
                    _ => Ok(()),
                }
            });
        }
    }
}

fn main() -> ExitCode {
    driver_toolkit::main(Slurm::new)
}
