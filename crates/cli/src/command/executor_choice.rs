//! Selects the executor and the container engine of a run by options and settings.

use super::custom_config;
use super::docker_config::{config, connect};
use super::driver_config;
use super::engine_garbage;
use super::image_checks::refuse_bad_images;
use super::kubernetes_config::kubernetes_config;
use super::machines_config;
use super::prompt::{can_ask, one_of};
use super::ssh_config::{ssh_config, ssh_config_of_machines};
use super::take_over::{CHECK, Held, take_over, take_over_pods};
use crate::args::DockerArgs;
use crate::executors::{AUTO, INSTANCE, Setup, has_machines, ssh};
use crate::failure::Failure;
use anyhow::anyhow;
use console::{error_line, shown_name, strip_controls};
use executor_core::chain;
use executor_core::job::When;
use executor_docker::DockerOptions;
use executor_docker::config::DockerConfig;
use executor_machine::machine_of;
use executor_shell::ShellConfig;
use includes::FetchPolicy;
use pipeline::{Plan, PlannedJob};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::task::spawn_blocking;
use workstation::{
    Isolation, Library, LocalError, LocalPipeline, ReservedRun, RunExecutor, Settings,
    SettingsFile, StateDir, UserLibrary,
};
use yaml::suggest::first_names;

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
        let mut executor = self.executor;
        let mut setup = Setup {
            shell: ShellConfig {
                login: self.login,
                supervisor: Some(run.supervisor().clone()),
                library: Some(Arc::clone(&library)),
                ..ShellConfig::default()
            },
            docker: DockerOptions::new()
                .with_supervisor(run.supervisor().clone())
                .with_library(library),
            ..Setup::default()
        };
        let mut held = Held::default();
        if executor != executor_kubernetes::NAME {
            self.docker.refuse_without_cluster()?;
        }
        if executor == AUTO && !may_have_images(run.plan()) {
            executor = executor_shell::NAME;
        }
        if executor == executor_driver::NAME {
            setup.driver = driver_config::of_settings(&self.settings()?)?;
            setup.driver.supervisor = Some(run.supervisor().clone());
        } else if executor == executor_ssh::NAME {
            setup.ssh = ssh(ssh_config(&self.settings()?)?);
            run.resume_jobs(|handle| handle.executor == executor_ssh::NAME);
        } else if executor == executor_custom::NAME {
            setup.custom = custom_config::options(&self.settings()?)?;
            setup.custom.supervisor = Some(run.supervisor().clone());
        } else if executor == executor_kubernetes::NAME {
            self.docker.refuse_for_pods()?;
            let config = kubernetes_config(&self.settings()?, self.docker)?;
            refuse_without_image(run.plan(), config.image.is_some())?;
            let here = Box::pin(executor_kubernetes::place(&config)).await;
            let here = here.map_err(|error| Failure::usage(error).with_help(CHECK))?;
            let provider = executor_kubernetes::provider(config);
            (setup.kubernetes, held) = Box::pin(take_over_pods(provider, &here, run)).await?;
        } else if has_machines(executor) {
            let settings = self.settings()?;
            let runner = machines_config::of_settings(&settings, None, Some(executor))?;
            setup.machines = runner.layer(&state, run.supervisor())?;
            if executor == INSTANCE {
                setup.ssh = ssh(ssh_config_of_machines(&settings)?);
            } else {
                let config = config(&settings, self.docker)?;
                refuse_without_image(run.plan(), config.image.is_some())?;
                refuse_bad_images(run.plan(), &config, pipeline)?;
                setup.docker = setup.docker.with_config(config);
            }
            run.resume_jobs(|handle| machine_of(handle).is_some());
        } else if executor != executor_shell::NAME {
            let settings = self.settings()?;
            let config = config(&settings, self.docker)?;
            let budget = engine_garbage::budget(&settings)?;
            if executor == executor_docker::NAME {
                refuse_without_image(run.plan(), config.image.is_some())?;
            }
            match connect(&config).await {
                Ok(engine) => {
                    refuse_bad_images(run.plan(), &config, pipeline)?;
                    // Boxed, since the futures of engine requests are large.
                    let opened = Box::pin(engine_garbage::open(&engine, budget));
                    let (opened, taken) =
                        tokio::join!(opened, Box::pin(take_over(engine.clone(), run)));
                    let mut taken = taken?;
                    setup.docker = setup.docker.with_owner(taken.owner.id());
                    if let Some((ledger, sweeper)) = opened {
                        setup.docker = setup.docker.with_ledger(ledger);
                        taken.sweeper = Some(sweeper);
                    }
                    held.engine = Some(taken);
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
                        setup.no_engine = Some(format!("no container engine answers: {reason}"));
                    }
                }
            }
            setup.docker = setup.docker.with_config(config);
        }
        let registry = crate::executors::registry(setup);
        let registry = registry.map_err(Failure::environment)?;
        let executor = RunExecutor::registered(&registry, executor)
            .ok_or_else(|| Failure::usage(anyhow!("there is no executor {executor:?}")))?;
        Ok((executor, held))
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

    /// Refuses to run in the working tree itself where jobs run in pods.
    pub(super) fn check_isolation(self, isolation: Isolation) -> Result<(), Failure> {
        if self.executor != executor_kubernetes::NAME || isolation != Isolation::None {
            return Ok(());
        }
        let error = anyhow!("`--executor kubernetes` does not have the option --in-place");
        Err(Failure::usage(error).with_help(
            "a pod gets a copy of the working tree, and its artifacts come back; leave out `--in-place`, or \
             `isolation = \"none\"` of the settings",
        ))
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
        if self.executor == executor_kubernetes::NAME {
            return Ok(format!(
                "{:?}",
                kubernetes_config(&self.settings()?, self.docker)?
            ));
        }
        if self.executor == INSTANCE {
            return Ok(format!("{:?}", ssh_config_of_machines(&self.settings()?)?));
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
fn refuse_without_image(plan: &Plan, has_default: bool) -> Result<(), Failure> {
    if has_default {
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

/// Refuses an unknown executor before anything else is checked.
pub(super) fn check_executor(name: &str) -> Result<(), Failure> {
    let registry = crate::executors::registry(Setup::default()).map_err(Failure::environment)?;
    if registry.get(name).is_some() {
        return Ok(());
    }
    let names: Vec<_> = registry.names().collect();
    Err(Failure::usage(anyhow!("there is no executor {name:?}"))
        .with_help(format!("this build has: {}", names.join(", "))))
}
