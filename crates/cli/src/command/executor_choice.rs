//! Selects the executor and the container engine of a run by options and settings.

use super::engine_garbage::{self, Sweeper};
use super::engine_owners::{Owner, Owners};
use super::image_checks::refuse_bad_images;
use crate::args::DockerArgs;
use crate::failure::Failure;
use anyhow::{Context, anyhow};
use console::{error_line, shown_name, strip_controls};
use executor_core::ability::ResumeHandle;
use executor_core::job::When;
use executor_core::{Cancellation, chain};
use executor_docker::config::{DockerConfig, KeyStyle};
use executor_docker::engine::{DockerHost, Engine, HostSettings};
use executor_docker::garbage::{ObjectOwner, SweepReport, sweep};
use executor_docker::{DockerError, DockerOptions};
use executor_shell::ShellConfig;
use includes::FetchPolicy;
use pipeline::{Plan, PlannedJob};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workstation::{
    GarbageSettings, Library, LocalError, LocalPipeline, ReservedRun, RunExecutor, Settings,
    StateDir, UserLibrary,
};

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
        let mut taken = None;
        if executor != executor_shell::NAME {
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
                    return Err(Failure::environment(error).with_help(
                        "with `--executor shell` jobs run on this machine, as they do without the option",
                    ));
                }
                Err(error) => {
                    if wants_image(run.plan()) {
                        error_line(&strip_controls(&format!(
                            "warning: no container engine answers, so jobs with an image run on this machine: {}",
                            chain(&error)
                        )));
                    }
                    executor = executor_shell::NAME;
                }
            }
            options = options.with_config(config);
        }
        let registry = crate::executors::registry(shell, options).map_err(Failure::environment)?;
        let executor = RunExecutor::registered(&registry, executor)
            .ok_or_else(|| Failure::usage(anyhow!("there is no executor {executor:?}")))?;
        Ok((executor, Held(taken)))
    }

    /// Returns the settings that change what a job does, to compare with earlier runs.
    pub(super) fn setup(self) -> Result<String, Failure> {
        let login = if self.login { "login" } else { "" };
        if self.executor == executor_shell::NAME {
            return Ok(login.to_owned());
        }
        Ok(format!("{login} {:?}", self.config()?))
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

/// Returns the configuration of containers, from settings and options.
pub(super) fn config(settings: &Settings, docker: &DockerArgs) -> Result<DockerConfig, Failure> {
    let mut said = Map::new();
    let section = settings.section("docker").into_iter();
    for (key, value) in section.filter(|(key, _)| !GarbageSettings::KEYS.contains(key)) {
        let value = serde_json::to_value(value).map_err(Failure::usage)?;
        said.insert(key.replace('-', "_"), value);
    }
    let mut say = |key: &str, value: Value| {
        said.entry(key).or_insert(value);
    };
    if let Some(image) = &docker.image {
        say("image", image.as_str().into());
    }
    let policies = docker.pull_policy();
    if policies.is_empty() {
        say("pull_policy", "if-not-present".into());
    } else {
        say("pull_policy", policies.into());
    }
    // The user wrote the jobs, or at least chose to run them, so every pull policy is allowed.
    let all = ["always", "if-not-present", "never"];
    say("allowed_pull_policies", all.as_slice().into());
    let mut config: DockerConfig = serde_json::from_value(Value::Object(said))
        .map_err(|error| wrong(&strip_controls(&error.to_string())))?;
    config.key_style = KeyStyle::Hyphens;
    match config.problems().first() {
        Some(problem) => Err(wrong(&strip_controls(&problem.to_string()))),
        None => Ok(config),
    }
}

pub(super) fn wrong(why: &str) -> Failure {
    Failure::usage(anyhow!("what is said of containers cannot be: {why}"))
        .with_help("`runwright config show --origin` tells who says it")
}

/// Refuses jobs without an image if there is no default image.
fn refuse_without_image(plan: &Plan, config: &DockerConfig) -> Result<(), Failure> {
    if config.image.is_some() {
        return Ok(());
    }
    let without = plan.jobs().iter().filter(|job| {
        let waits = job.definition.when == When::Manual && !job.is_played;
        !job.is_bridge() && !waits && job.definition.image.is_none()
    });
    let names: Vec<String> = without.map(|job| shown_name(job.name())).collect();
    if names.is_empty() {
        return Ok(());
    }
    let (jobs, name) = match names.len() {
        1 => ("job", "names"),
        _ => ("jobs", "name"),
    };
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let first = names[..names.len().min(NAMED)].join(", ");
    let error = anyhow!("there is no image for a container: the {jobs} {first}{more} {name} none");
    Err(Failure::usage(error).with_help(
        "write `image:` in the file, or say which such jobs get: `--image debian:12`, or `image` in \
         the settings; with `--executor auto` they run on this machine",
    ))
}

fn wants_image(plan: &Plan) -> bool {
    let mut jobs = plan.jobs().iter();
    jobs.any(|job: &PlannedJob| job.definition.image.is_some())
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
                    "warning: of an earlier run is left: {failure}"
                )));
            }
            swept.failures.is_empty()
        }
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "What earlier runs left in the engine is not looked for."
            );
            false
        }
    }
}

pub(super) async fn connect(config: &DockerConfig) -> Result<Engine, DockerError> {
    let host = DockerHost::find(&HostSettings {
        host: config.host.as_deref(),
        tls_verify: config.tls_verify,
        tls_cert_path: config.tls_cert_path.as_deref().map(Path::new),
    })?;
    Engine::connect(&host).await
}

/// Refuses an unknown executor before anything else is checked.
pub(super) fn check_executor(name: &str) -> Result<(), Failure> {
    let registry = crate::executors::registry(ShellConfig::default(), DockerOptions::new())
        .map_err(Failure::environment)?;
    if registry.get(name).is_some() {
        return Ok(());
    }
    let names: Vec<_> = registry.names().collect();
    Err(Failure::usage(anyhow!("there is no executor {name:?}"))
        .with_help(format!("this build has: {}", names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_docker::config::policy::check_image;
    use executor_docker::image::{ImageReference, PullPolicy};

    fn read(text: &str, docker: &DockerArgs) -> Result<DockerConfig, String> {
        let settings = Settings::parse(Path::new("config.toml"), text, None).expect("settings");
        config(&settings, docker).map_err(|failure| failure.message())
    }

    #[test]
    fn configuration_combines_settings_and_options() {
        let docker = DockerArgs::default();
        let plain = read("", &docker).expect("a configuration");
        assert_eq!(plain.image, None);
        assert_eq!(plain.pull_policy, [PullPolicy::IfNotPresent]);
        assert_eq!(plain.allowed_pull_policies.len(), 3);
        assert!(!plain.privileged && plain.volumes.is_empty());

        let text = "[docker]\nprivileged = true\nvolumes = [\"/a:/b\"]\nmemory = \"1g\"\n\
                    cpus = \"1.5\"\nwait-for-services-timeout = 7\nengine = \"exec\"\n\
                    devices = [\"/dev/kvm\"]\ngpus = \"all\"\nextra-hosts = [\"a:10.0.0.1\"]\n";
        let docker = DockerArgs {
            image: Some("debian:12".to_owned()),
            ..DockerArgs::default()
        };
        let full = read(text, &docker).expect("a configuration");
        assert!(full.privileged);
        assert_eq!(full.image.as_deref(), Some("debian:12"));
        assert_eq!(full.volumes, ["/a:/b"]);
        assert_eq!(full.wait_for_services_timeout, 7);
        assert!(full.memory.is_some() && full.cpus.is_some() && full.gpus.is_some());

        let refused = read("[docker]\nmemory = \"much\"\n", &docker).expect_err("refused");
        assert!(refused.contains("cannot be"), "{refused}");
    }

    #[test]
    fn messages_use_the_key_names_of_settings() {
        let docker = DockerArgs::default();
        let refused = read("[docker]\nmemory = \"1m\"\n", &docker).expect_err("refused");
        assert!(refused.contains(": docker.memory: "), "{refused}");
        let config = read("[docker]\nallowed-images = [\"debian:*\"]\n", &docker);
        let image = ImageReference::parse("busybox").expect("a reference");
        let refused = check_image(&config.expect("a configuration"), &image).expect_err("refused");
        let refused = refused.to_string();
        assert!(
            refused.contains("the runner's allowed-images has only"),
            "{refused}"
        );
    }
}
