//! Selects the executor and the container engine of a run by options and settings.

use super::custom_config;
use super::docker_config::{config, connect};
use super::driver_config;
use super::engine_garbage::{self, Sweeper};
use super::engine_owners::{Owner, Owners};
use super::image_checks::refuse_bad_images;
use super::prompt::{can_ask, one_of};
use super::ssh_config::ssh_config;
use crate::args::DockerArgs;
use crate::executors::AUTO;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use console::{error_line, shown_name, strip_controls};
use executor_core::ability::ResumeHandle;
use executor_core::job::When;
use executor_core::{Cancellation, chain};
use executor_custom::CustomOptions;
use executor_docker::config::DockerConfig;
use executor_docker::engine::Engine;
use executor_docker::garbage::{ObjectOwner, SweepReport, sweep};
use executor_docker::{DockerError, DockerOptions};
use executor_driver::DriverConfig;
use executor_shell::ShellConfig;
use executor_ssh::{SshConfig, SshOptions};
use includes::FetchPolicy;
use pipeline::{Plan, PlannedJob};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use workstation::{
    Library, LocalError, LocalPipeline, ReservedRun, RunExecutor, Settings, SettingsFile, StateDir,
    UserLibrary,
};
use yaml::suggest::first_names;

/// How long an owner of objects in an engine is remembered at least.
const REMEMBERED: Duration = Duration::from_hours(1);

/// How many jobs a message names.
const NAMED: usize = 5;

/// Where to run the jobs of a run, by the options of a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExecutorChoice<'a> {
    pub(super) executor: &'a str,
    pub(super) docker: &'a DockerArgs,
    pub(super) login: bool,
    /// When to fetch functions from servers.
    pub(super) fetching: FetchPolicy,
    /// The root directory of the project.
    pub(super) root: &'a Path,
}

/// The claims a run holds until it finishes: without them, other processes remove what the run creates.
#[derive(Debug)]
pub(super) struct Held(Option<Taken>);

/// The claims of a run in an engine.
#[derive(Debug)]
struct Taken {
    engine: Engine,
    owner: Owner,
    /// The dead owners whose jobs are resumed.
    resumed: Vec<Owner>,
    /// Removes what exceeds the budget, after the run.
    sweeper: Option<Sweeper>,
}

impl Held {
    /// Removes, after the run, the leftovers of resumed jobs and, unless the run was canceled, what exceeds
    /// the budget.
    pub(super) async fn tidy(self, cancellation: &Cancellation) {
        let Some(taken) = self.0 else { return };
        if !taken.resumed.is_empty() {
            let resumed = taken.resumed.as_slice();
            tell(Box::pin(sweep(&taken.engine, |it| !is_of(resumed, it))).await);
        }
        if let Some(sweeper) = taken.sweeper.filter(|_| !cancellation.is_canceled()) {
            Box::pin(sweeper.sweep()).await;
        }
    }
}

impl ExecutorChoice<'_> {
    /// Returns the executor of a run. If it uses an engine, first removes what dead runs left there.
    pub(super) async fn executor(
        self,
        run: &mut ReservedRun,
        pipeline: &LocalPipeline,
    ) -> Result<(RunExecutor, Held), Failure> {
        let state = StateDir::of_user().map_err(LocalError::from)?;
        let library = UserLibrary::new(&state).with_fetching(self.fetching);
        let library: Arc<dyn Library> = Arc::new(library);
        let shell = ShellConfig {
            login: self.login,
            supervisor: Some(run.supervisor().clone()),
            library: Some(Arc::clone(&library)),
            ..ShellConfig::default()
        };
        let mut executor = self.executor;
        let mut options = DockerOptions::new()
            .with_supervisor(run.supervisor().clone())
            .with_library(library);
        let (mut taken, mut no_engine) = (None, None);
        if executor == AUTO && !may_have_images(run.plan()) {
            executor = executor_shell::NAME;
        }
        let mut driver = DriverConfig::default();
        let mut ssh = SshConfig::default();
        let mut custom = CustomOptions::default();
        if executor == executor_driver::NAME {
            driver = driver_config::of_settings(&self.settings()?)?;
            driver.supervisor = Some(run.supervisor().clone());
        } else if executor == executor_ssh::NAME {
            ssh = ssh_config(&self.settings()?)?;
        } else if executor == executor_custom::NAME {
            custom = custom_config::options(&self.settings()?)?;
            custom.supervisor = Some(run.supervisor().clone());
        } else if executor != executor_shell::NAME {
            let settings = self.settings()?;
            let config = config(&settings, self.docker)?;
            let budget = engine_garbage::budget(&settings)?;
            if executor == executor_docker::NAME {
                refuse_without_image(run.plan(), &config)?;
            }
            match connect(&config).await {
                Ok(engine) => {
                    refuse_bad_images(run.plan(), &config, pipeline)?;
                    // Boxed, since the futures of engine requests are large.
                    let opened = Box::pin(engine_garbage::open(&engine, budget));
                    let (opened, held) =
                        tokio::join!(opened, Box::pin(take_over(engine.clone(), run)));
                    let mut held = held?;
                    options = options.with_owner(held.owner.id());
                    if let Some((ledger, sweeper)) = opened {
                        options = options.with_ledger(ledger);
                        held.sweeper = Some(sweeper);
                    }
                    taken = Some(held);
                }
                Err(error) if executor == executor_docker::NAME => {
                    return Err(Failure::environment(error)
                        .with_help("with `--executor shell` jobs run on this machine"));
                }
                Err(error) => {
                    let reason = strip_controls(&chain(&error));
                    let names = jobs_with_image(run.plan());
                    if settings.allows_host_images(self.root)
                        || (!names.is_empty() && self.consents(&names, &reason).await?)
                    {
                        executor = executor_shell::NAME;
                    } else {
                        no_engine = Some(format!("no container engine answers: {reason}"));
                    }
                }
            }
            options = options.with_config(config);
        }
        let ssh = SshOptions::from_environment(ssh, |name| std::env::var(name).ok());
        let registry =
            crate::executors::registry(shell, options, custom, driver, ssh, no_engine.as_deref());
        let registry = registry.map_err(Failure::environment)?;
        let executor = RunExecutor::registered(&registry, executor)
            .ok_or_else(|| Failure::usage(anyhow!("there is no executor {executor:?}")))?;
        Ok((executor, Held(taken)))
    }

    /// Asks whether jobs with an image may run on this machine.
    ///
    /// # Errors
    ///
    /// If there is no terminal to ask at, or the user declines or leaves.
    async fn consents(self, names: &[String], reason: &str) -> Result<bool, Failure> {
        let (names, have) = match names {
            [name] => (format!("the job {name}"), "has"),
            names => (format!("the jobs {}", first_names(names, NAMED)), "have"),
        };
        let why = format!("no container engine answers, but {names} {have} an image: {reason}");
        let refused = |error| {
            Failure::environment(error).with_help(
                "start an engine, leave such jobs out with `--skip JOB`, or run them on this machine with \
                 `--executor shell`; with `--remember` too, for all later runs of this project",
            )
        };
        if !can_ask() {
            return Err(refused(anyhow!(why)));
        }
        error_line(&why);
        let question = format!("Run {names} on this machine itself?");
        let rows = ["no", "this time", "always in this project"].map(str::to_owned);
        let answer = spawn_blocking(move || one_of(&question, &rows)).await;
        match answer.map_err(Failure::environment)?? {
            Some(1) => Ok(true),
            Some(2) => remember(self.root).map(|()| true),
            Some(_) => Err(refused(anyhow!("no job was started"))),
            None => Err(Failure::interrupted()),
        }
    }

    /// Returns the address of this machine for helper commands, where the settings name one.
    pub(super) fn helper_address(self) -> Result<Option<IpAddr>, Failure> {
        if self.executor != executor_custom::NAME {
            return Ok(None);
        }
        custom_config::endpoint_address(&self.settings()?)
    }

    /// Returns the options that change what a job does, to compare with earlier runs.
    pub(super) fn host_setup(self) -> String {
        if self.login { "login" } else { "" }.to_owned()
    }

    /// Returns the settings that change what a job in a container does, to compare with earlier runs.
    pub(super) fn container_setup(self) -> Result<String, Failure> {
        if self.executor == executor_shell::NAME {
            return Ok(String::new());
        }
        if self.executor == executor_driver::NAME {
            let driver = driver_config::of_settings(&self.settings()?)?;
            return Ok(format!("{:?}", driver.command));
        }
        if self.executor == executor_ssh::NAME {
            return Ok(format!("{:?}", ssh_config(&self.settings()?)?));
        }
        if self.executor == executor_custom::NAME {
            let driver = custom_config::options(&self.settings()?)?;
            return Ok(format!("{:?}", driver.config));
        }
        Ok(format!("{:?}", self.config()?))
    }

    fn config(self) -> Result<DockerConfig, Failure> {
        config(&self.settings()?, self.docker)
    }

    fn settings(self) -> Result<Settings, Failure> {
        let state = StateDir::of_user().map_err(LocalError::from)?;
        let home = std::env::home_dir();
        let settings = Settings::of_project(self.root, state.path(), home.as_deref());
        Ok(settings.map_err(LocalError::from)?)
    }
}

/// Refuses jobs without an image if there is no default image.
fn refuse_without_image(plan: &Plan, config: &DockerConfig) -> Result<(), Failure> {
    if config.image.is_some() {
        return Ok(());
    }
    let jobs = plan.jobs().iter().filter(|job| is_started(job));
    let without = jobs.filter(|job| job.definition.image.is_none());
    let names: Vec<String> = without.map(|job| shown_name(job.name())).collect();
    if names.is_empty() {
        return Ok(());
    }
    let (jobs, name) = match names.len() {
        1 => ("job", "names"),
        _ => ("jobs", "name"),
    };
    let names = first_names(&names, NAMED);
    let error = anyhow!("there is no image for a container: the {jobs} {names} {name} none");
    Err(Failure::usage(error).with_help(
        "write `image:` in the file, or say which such jobs get: `--image debian:12`, or `image` in \
         the settings; with `--executor auto` they run on this machine",
    ))
}

/// Returns whether jobs of a plan, or of the pipelines they start, may have an image.
fn may_have_images(plan: &Plan) -> bool {
    let mut jobs = plan.jobs().iter();
    jobs.any(|job| job.is_bridge() || job.definition.image.is_some())
}

/// Returns the names of the jobs with an image that a run starts by itself.
fn jobs_with_image(plan: &Plan) -> Vec<String> {
    let jobs = plan.jobs().iter().filter(|job| is_started(job));
    let jobs = jobs.filter(|job| job.definition.image.is_some());
    jobs.map(|job| shown_name(job.name())).collect()
}

/// Returns whether a run starts the job by itself, as a job with a script.
fn is_started(job: &PlannedJob) -> bool {
    let waits = job.definition.when == When::Manual && !job.is_played;
    !job.is_bridge() && !waits
}

/// Remembers that jobs with an image may run on this machine, in the project with this root.
pub(super) fn remember(root: &Path) -> Result<(), Failure> {
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let settings = Settings::of_project(root, state.path(), std::env::home_dir().as_deref());
    if settings.map_err(LocalError::from)?.allows_host_images(root) {
        return Ok(());
    }
    let path = SettingsFile::allow_host_images(&state, root).map_err(LocalError::from)?;
    let path = strip_controls(&path.to_string_lossy());
    error_line(&format!(
        "note: {path} allows jobs of this project on this machine"
    ));
    Ok(())
}

/// Registers as an owner, and removes the leftovers of dead owners from the engine, except those of jobs
/// that the run resumes.
async fn take_over(engine: Engine, run: &mut ReservedRun) -> Result<Taken, Failure> {
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let owners = Owners::of(state.path());
    let here = engine.host().to_string();
    let owner = owners.enter(&here);
    let owner = owner
        .context("note whose containers are made")
        .map_err(Failure::environment)?;
    let (mut resumed, mut kept): (Vec<Owner>, Vec<ResumeHandle>) = (Vec::new(), Vec::new());
    run.resume_jobs(|handle| {
        let dead = handle.fields.get("owner").map_or("", String::as_str);
        if resumed.iter().all(|it| it.id() != dead) {
            let Some(claimed) = owners.claim_in(&here, dead) else {
                return false;
            };
            resumed.push(claimed);
        }
        kept.push(handle.clone());
        true
    });
    // Held until all leftovers are removed, so that no other run resumes an object while it is being
    // removed.
    let dead = owners.claim_dead(&here);
    let is_left = |it: &ObjectOwner<'_>| {
        is_of(&dead, it) || (is_of(&resumed, it) && !kept.iter().any(|handle| it.is_of(handle)))
    };
    if tell(sweep(&engine, |it| !is_left(it)).await) {
        for owner in &dead {
            owners.forget(owner, REMEMBERED);
        }
    }
    Ok(Taken {
        engine,
        owner,
        resumed,
        sweeper: None,
    })
}

fn is_of(owners: &[Owner], it: &ObjectOwner<'_>) -> bool {
    owners.iter().any(|owner| owner.id() == it.owner)
}

/// Prints what could not be removed; returns whether no leftovers remain.
fn tell(swept: Result<SweepReport, DockerError>) -> bool {
    match swept {
        Ok(swept) => {
            for failure in &swept.failures {
                error_line(&strip_controls(&format!(
                    "warning: a leftover of an earlier run cannot be removed: {failure}"
                )));
            }
            swept.failures.is_empty()
        }
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "Leftovers of earlier runs in the engine are not removed."
            );
            false
        }
    }
}

/// Refuses an unknown executor before anything else is checked.
pub(super) fn check_executor(name: &str) -> Result<(), Failure> {
    let registry = crate::executors::unconfigured().map_err(Failure::environment)?;
    if registry.get(name).is_some() {
        return Ok(());
    }
    let names: Vec<_> = registry.names().collect();
    Err(Failure::usage(anyhow!("there is no executor {name:?}"))
        .with_help(format!("this build has: {}", names.join(", "))))
}
