//! The start of a job: its container and all that it needs are created.

use crate::config::ImageOptions;
use crate::engine::labels::Labels;
use crate::engine::names::Names;
use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::job::container::JobContainer;
use crate::job::container::fault;
use crate::job::create::AllowedOptions;
use crate::job::created_resources::CreatedResources;
use crate::job::files::JobFiles;
use crate::job::prepare::assemble::{AgentParts, Parts, PreparedTransport};
use crate::job::prepare::creation::{Creation, Occupant};
use crate::job::prepare::preparation::Preparation;
use crate::job::prepare::resources;
use crate::job::prepare::started_container::StartedContainer;
use crate::job::prepared::Prepared;
use crate::job::resume::ContainerRef;
use crate::job::stage::transport::{StageTransport, TransportChoice};
use crate::network::JobNetwork;
use crate::service::Services;
use crate::warm::{Blueprint, Pool};
use executor_core::{Cancellation, JobTraceExt};
use std::sync::Arc;
use steps::StepsClient;
use steps::{RecordedRuns, RunRecord};
/// Creates the container and waits until stages can run in it.
pub(crate) async fn start(
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
    let image_options = ImageOptions::of(&options.job.image)?;
    preparation.announce_files(&image_options, &names);
    let volumes = resources::volumes(preparation, &names)?;
    let services = resources::services(preparation, &names, &labels, volumes.binds())?;
    made.services = Some(services.clone());
    let volumes = made.volumes.insert(volumes);
    let volumes = volumes.make(&preparation.settings, &labels, cancellation);
    let images = preparation.images_of_job();
    let image = preparation.image(&images, &image_options, cancellation);
    let helper = preparation.helper_image(&images, &image_options, cancellation);
    let network = resources::network(preparation, services.len(), &names, &labels, cancellation);
    let pulls = services.pull(&images, cancellation);
    // All are awaited, so that every created object is known.
    let (volumes, image, helper, network, pulls) =
        tokio::join!(volumes, image, helper, network, pulls);
    let network = network.map(Arc::new);
    made.network = network.as_ref().ok().cloned();
    let (image, helper) = (image?, helper?);
    let network = network?;
    pulls?;
    volumes?;
    cancellation.check()?;
    let allowed = AllowedOptions::of_build(&preparation.settings, &image, &image_options)?;
    let TransportChoice {
        transport,
        agent_unavailable,
    } = preparation.transport(&image)?;
    let mark = transport.new_mark();
    let creation = Creation {
        preparation,
        image: &image,
        transport: &transport,
        labels: &labels,
        names: &names,
        image_options: &image_options,
        allowed: &allowed,
        mark: &mark,
        occupant: Occupant::Job,
    };
    let kind = creation.kind(services.len(), made)?;
    let taken = pool.take(&creation, kind.as_ref(), made, cancellation);
    let started = match taken.await? {
        Some(started) => started,
        None => ready(&creation, &services, &network, made, cancellation).await?,
    };
    let StartedContainer {
        container,
        files,
        details,
        client,
    } = started;
    let name = image.reference.familiar();
    let agent = client.map(|client| {
        let container_ref = container_ref(preparation, &container, &network, &files);
        with_agent(preparation, client, &container_ref, &names)
    });
    let details = details.ok_or_else(|| DockerError::config(fault::no_shell(&name)))?;
    let owner = details.owner();
    let read_only = preparation.settings.read_only;
    let making = files.make_inside(&container, owner, read_only);
    unless_stopped(cancellation, making).await?;
    let rescuer = creation.rescuer(made, &container, &files, owner)?;
    let prepared_transport = match (agent, &transport) {
        (Some(agent), _) => PreparedTransport::Agent(agent),
        (None, StageTransport::Attach) => {
            let helper = helper.as_ref().unwrap_or(&image);
            let helper = creation.helper(made, &container, &files, helper, owner)?;
            PreparedTransport::Attach(Box::new(helper))
        }
        (None, _) => PreparedTransport::Exec { agent_unavailable },
    };
    let wanted = kind.filter(|_| files.host.is_some());
    let wanted = wanted.map(|kind| Blueprint::of(&creation, kind, made));
    // An engine may take a name for a prefix of other names; an id is unique.
    made.set_container_id(&names.build(), container.id());
    let parts = Parts {
        container,
        files,
        services,
        details,
        transport: prepared_transport,
        rescuer,
    };
    let prepared = parts.assemble(preparation, &name)?;
    if let Some(blueprint) = wanted {
        // In the host's process namespace, other processes survive the first one.
        made.is_of_pool = preparation.settings.pid_mode.as_deref() != Some("host");
        pool.want(blueprint);
    }
    Ok(prepared)
}

/// Starts the container and the services: the services first when the container needs their addresses.
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
    let starting_services = async {
        if beside {
            services.start(network, cancellation).await?;
        }
        Ok::<_, DockerError>(())
    };
    let starting = creation.ready(made, cancellation);
    let (services_started, started) = tokio::join!(starting_services, starting);
    let started = started?;
    services_started?;
    Ok(started)
}

/// Returns the data that another process needs to find the container.
fn container_ref(
    preparation: &Preparation,
    container: &JobContainer,
    network: &JobNetwork,
    files: &JobFiles,
) -> ContainerRef {
    ContainerRef {
        container: container.id().to_owned(),
        owner: preparation.owner.clone(),
        job: preparation.options.job.id,
        attempt: preparation.attempt,
        network: network.name().to_owned(),
        mounted: files.host.is_some(),
        private: files.private(),
    }
}

/// Returns the agent with a new resume record.
fn with_agent(
    preparation: &Preparation,
    client: StepsClient,
    container_ref: &ContainerRef,
    names: &Names,
) -> AgentParts {
    let record = RunRecord::new(
        container_ref.handle(),
        RecordedRuns::default(),
        preparation.observer.clone(),
    );
    let prefix = names.base().to_owned();
    AgentParts {
        client,
        prefix,
        record,
    }
}
