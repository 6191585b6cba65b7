//! Making a job's container and all that it needs.

use crate::assemble::{AgentParts, Parts, Way};
use crate::config::{DockerConfig, EngineChoice, ImageOptions};
use crate::container::JobContainer;
use crate::container::fault;
use crate::container::ready::Inside;
use crate::create::Grant;
use crate::created_resources::CreatedResources;
use crate::creation::Creation;
use crate::engine::Engine;
use crate::error::DockerError;
use crate::executor::Prepared;
use crate::garbage::JobLeases;
use crate::host::SharedHost;
use crate::image::{CredentialSources, Credentials, ImageInfo, ImageReference, Images};
use crate::labels::Labels;
use crate::names::Names;
use crate::network::JobNetwork;
use crate::pending_request::unless_stopped;
use crate::policy;
use crate::resources;
use crate::resume::{Ledger, Place, Runs};
use crate::run::mark::new_mark;
use crate::service::Services;
use crate::stage_transport::{self, Fallback, Tactic};
use crate::started_container::StartedContainer;
use crate::warm::{Blueprint, Pool};
use crate::workspace::JobFiles;
use executor_core::ability::ResumeObserver;
use executor_core::{
    BuildDirs, Cancellation, JobTraceExt, PrepareOptions, ShellDialect, ShellInfo,
};
use process::Supervisor;
use std::sync::Arc;
use std::time::Duration;
use steps::StepsClient;
use steps::agent::READY;

/// How long an entry point may take when the runner's settings set no limit.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// What is known before anything is made.
#[derive(Debug)]
pub(crate) struct Preparation {
    pub(crate) shared: SharedHost,
    pub(crate) engine: Engine,
    /// Those of the engine, pulled as nobody in particular.
    pub(crate) images: Images,
    /// Keep what the job uses from being removed.
    pub(crate) leases: Option<JobLeases>,
    /// Starts the helpers that tell credentials.
    pub(crate) supervisor: Option<Supervisor>,
    pub(crate) settings: DockerConfig,
    /// The id of the run.
    pub(crate) owner: String,
    pub(crate) attempt: u32,
    /// As the executor's base computed them.
    pub(crate) dirs: BuildDirs,
    /// The shell that somebody prefers.
    pub(crate) shell: ShellInfo,
    pub(crate) options: PrepareOptions,
    /// Wants to know what another process would need to go on.
    pub(crate) observer: Option<ResumeObserver>,
}

/// Makes the container and waits until stages can run in it.
pub(crate) async fn prepare(
    preparation: &Preparation,
    pool: &Pool,
    made: &mut CreatedResources,
    cancellation: &Cancellation,
) -> Result<Prepared, DockerError> {
    let options = &preparation.options;
    let names = Names::new(&preparation.owner, options.job.id, preparation.attempt);
    let labels = Labels::of(&options.job, &preparation.owner, preparation.attempt)
        .with_container_labels(&preparation.settings.container_labels);
    for warning in preparation.settings.checked()? {
        options.trace.warning_line(&warning.to_string());
    }
    preparation
        .settings
        .checked_for(preparation.engine.version())?;
    let said = ImageOptions::of(&options.job.image)?;
    preparation.announce_files(&said, &names);
    let volumes = resources::volumes(preparation, &names)?;
    let services = resources::services(preparation, &names, &labels, volumes.binds())?;
    made.services = Some(services.clone());
    let volumes = made.volumes.insert(volumes);
    let volumes = volumes.make(&preparation.settings, &labels, cancellation);
    let images = preparation.images_of_job();
    let image = preparation.image(&images, &said, cancellation);
    let helper = preparation.helper_image(&images, &said, cancellation);
    let network = resources::network(preparation, services.len(), &names, &labels, cancellation);
    let pulls = services.pull(&images, cancellation);
    // Each comes to its end, so that what was made is known.
    let (volumes, image, helper, network, pulls) =
        tokio::join!(volumes, image, helper, network, pulls);
    let network = network.map(Arc::new);
    made.network = network.as_ref().ok().cloned();
    let (image, helper) = (image?, helper?);
    let network = network?;
    pulls?;
    volumes?;
    cancellation.check()?;
    let grant = Grant::of_build(&preparation.settings, &image, &said)?;
    let tactic = preparation.tactic(&image)?;
    let mark = mark_of(&tactic);
    let creation = Creation {
        preparation,
        image: &image,
        tactic: &tactic,
        labels: &labels,
        names: &names,
        said: &said,
        grant: &grant,
        mark: &mark,
    };
    let kind = creation.kind(services.len(), made)?;
    let taken = pool.take(&creation, kind.as_ref(), made, cancellation);
    let readied = match taken.await? {
        Some(readied) => readied,
        None => ready(&creation, &services, &network, made, cancellation).await?,
    };
    let StartedContainer {
        container,
        files,
        inside,
        client,
    } = readied;
    let name = image.reference.familiar();
    let agent = client.map(|client| {
        let place = place(preparation, &container, &network, &files);
        with_agent(preparation, client, place, &names)
    });
    let inside = inside.ok_or_else(|| DockerError::config(fault::no_shell(&name)))?;
    let owner = inside.owner();
    let read_only = preparation.settings.read_only;
    let making = files.make_inside(&container, owner, read_only);
    unless_stopped(cancellation, making).await?;
    let rescuer = match &tactic {
        // Its predefined container outlives the other.
        Tactic::Attach => None,
        Tactic::Agent(_) | Tactic::Exec => creation.rescuer(made, &container, &files, owner)?,
    };
    let way = match (agent, &tactic) {
        (Some(agent), _) => Way::Agent(agent),
        (None, Tactic::Attach) => {
            let helper = helper.as_ref().unwrap_or(&image);
            let helper = creation.helper(made, &container, &files, helper, owner)?;
            Way::Attach(Box::new(helper))
        }
        (None, _) => Way::Exec,
    };
    let wanted = kind.filter(|_| files.host.is_some());
    let wanted = wanted.map(|kind| Blueprint::of(&creation, kind, made));
    // An engine takes names for those of all that begin so.
    made.knows(&names.build(), container.id());
    let parts = Parts {
        container,
        files,
        services,
        inside,
        way,
        rescuer,
    };
    let prepared = parts.assemble(preparation, &name)?;
    if let Some(blueprint) = wanted {
        // Of another, the death of the first process is not that of all.
        made.is_of_pool = preparation.settings.pid_mode.as_deref() != Some("host");
        pool.want(blueprint);
    }
    Ok(prepared)
}

/// Makes the container, and starts the services: before it where it is told where they are, else beside it.
async fn ready(
    creation: &Creation<'_>,
    services: &Services,
    network: &JobNetwork,
    made: &mut CreatedResources,
    cancellation: &Cancellation,
) -> Result<StartedContainer, DockerError> {
    let beside = network.resolves_names();
    if !beside {
        services.start(network, cancellation).await?;
    }
    let started = start_if(beside, services, network, cancellation);
    let begun = creation.ready(made, cancellation);
    let (started, begun) = tokio::join!(started, begun);
    let readied = begun?;
    started?;
    Ok(readied)
}

/// Returns what the container says when it is ready.
pub(crate) fn mark_of(tactic: &Tactic) -> String {
    match tactic {
        Tactic::Agent(_) => READY.to_owned(),
        Tactic::Exec | Tactic::Attach => new_mark(),
    }
}

/// Returns what another process needs to find the container.
fn place(
    preparation: &Preparation,
    container: &JobContainer,
    network: &JobNetwork,
    files: &JobFiles,
) -> Place {
    Place {
        container: container.id().to_owned(),
        owner: preparation.owner.clone(),
        job: preparation.options.job.id,
        attempt: preparation.attempt,
        network: network.name().to_owned(),
        mounted: files.host.is_some(),
        private: files.private(),
    }
}

/// Adds to an agent that answers what is noted of it.
fn with_agent(
    preparation: &Preparation,
    client: StepsClient,
    place: Place,
    names: &Names,
) -> AgentParts {
    let ledger = Ledger::new(place, Runs::default(), preparation.observer.clone());
    let prefix = names.base().to_owned();
    AgentParts {
        client,
        prefix,
        ledger,
    }
}

async fn start_if(
    beside: bool,
    services: &Services,
    network: &JobNetwork,
    cancellation: &Cancellation,
) -> Result<(), DockerError> {
    if beside {
        services.start(network, cancellation).await?;
    }
    Ok(())
}

impl Preparation {
    /// Returns the images of the engine as this job may pull them: its own, the helper's, those of services.
    fn images_of_job(&self) -> Images {
        let variable = self.options.variables.get("DOCKER_AUTH_CONFIG");
        let sources = CredentialSources::of_runner();
        let sources = sources.with_job(variable, &self.options.job.credentials);
        let mut credentials = Credentials::new(sources);
        if let Some(supervisor) = &self.supervisor {
            credentials = credentials.with_helpers(supervisor.tree());
        }
        let images = self.images.for_job(credentials);
        images.with_leases(self.leases.clone())
    }

    /// Sees to it that the engine has the job's image.
    async fn image(
        &self,
        images: &Images,
        said: &ImageOptions,
        cancellation: &Cancellation,
    ) -> Result<ImageInfo, DockerError> {
        let job = &self.options.job.image;
        let variables = &self.options.variables;
        let configured = self.settings.image.as_deref().unwrap_or_default();
        let wanted = if job.name.is_empty() {
            configured
        } else {
            &job.name
        };
        let expanded = variables.expand(wanted).into_owned();
        if expanded.is_empty() {
            return Err(DockerError::config(
                "the job names no image, and the runner has none for such jobs; set `image:` in the \
                 job, or `image` in the runner's settings",
            ));
        }
        let reference = reference_of(&expanded)?;
        policy::check_image(&self.settings, &reference)
            .map_err(|refusal| DockerError::config(refusal.to_string()))?;
        self.pull(images, &reference, &job.pull_policy, said, cancellation)
            .await
    }

    /// Sees to it that the engine has the image of the predefined container, where that is another.
    async fn helper_image(
        &self,
        images: &Images,
        said: &ImageOptions,
        cancellation: &Cancellation,
    ) -> Result<Option<ImageInfo>, DockerError> {
        let named = self.settings.helper_image.as_deref();
        let attach = self.settings.engine == EngineChoice::Attach;
        let Some(named) = named.filter(|name| attach && !name.is_empty()) else {
            return Ok(None);
        };
        let reference = reference_of(&self.options.variables.expand(named))?;
        let pulled = self.pull(images, &reference, &[], said, cancellation).await;
        pulled.map(Some)
    }

    async fn pull(
        &self,
        images: &Images,
        reference: &ImageReference,
        asked: &[String],
        said: &ImageOptions,
        cancellation: &Cancellation,
    ) -> Result<ImageInfo, DockerError> {
        let policies = policy::pull_policies(&self.settings, asked)
            .map_err(|refusal| DockerError::config(refusal.to_string()))?;
        images
            .ensure(
                reference,
                &policies,
                said.platform.as_deref(),
                &*self.options.trace,
                cancellation,
            )
            .await
    }

    /// Decides how stages are run, and says so where it is not the first choice and nobody has said it in this run.
    fn tactic(&self, image: &ImageInfo) -> Result<Tactic, DockerError> {
        let choice = self.settings.engine;
        let (tactic, fallback) = stage_transport::choose(choice, steps::agent::find(), image)?;
        if let Some(Fallback(reason)) = fallback
            && self.shared.is_news(&reason)
        {
            let words = format!("stages are run by exec, without the agent: {reason}");
            self.options.trace.system_line(&words);
        }
        Ok(tactic)
    }

    /// Decides for the shell that scripts are written for.
    pub(crate) fn choose_shell(
        &self,
        inside: &Inside,
        image: &str,
    ) -> Result<ShellInfo, DockerError> {
        let mut shell = self.shell.clone();
        let (dialect, program) = match self.options.config.shell {
            Some(ShellDialect::Sh) => (ShellDialect::Sh, "sh"),
            Some(ShellDialect::Bash) if !inside.is_bash() => {
                return Err(DockerError::config(format!(
                    "image {image} has no bash, which the runner's settings ask for with `shell`"
                )));
            }
            Some(dialect @ (ShellDialect::Pwsh | ShellDialect::PowerShell)) => {
                return Err(DockerError::config(format!(
                    "jobs in containers run in bash or sh, not in {dialect}"
                )));
            }
            _ if inside.is_bash() => (ShellDialect::Bash, inside.shell.as_str()),
            _ => (ShellDialect::Sh, inside.shell.as_str()),
        };
        shell.dialect = dialect;
        shell.program = Some(program.to_owned());
        Ok(shell)
    }
}

fn reference_of(name: &str) -> Result<ImageReference, DockerError> {
    ImageReference::parse(name).map_err(|error| DockerError::config(format!("image: {error}")))
}
