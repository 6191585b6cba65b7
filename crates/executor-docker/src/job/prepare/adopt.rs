//! Resumes a job in a container that another process created.

use crate::engine::labels::{ATTEMPT, JOB_ID, Labels, OWNER, ROLE, Role, WARM};
use crate::engine::names::Names;
use crate::error::DockerError;
use crate::job::container::watch::{ContainerEnd, current_end};
use crate::job::container::{JobContainer, fault};
use crate::job::created_resources::CreatedResources;
use crate::job::files::JobFiles;
use crate::job::prepare::assemble::{AgentParts, Parts, PreparedTransport, reach_agent};
use crate::job::prepare::preparation::Preparation;
use crate::job::prepare::resources;
use crate::job::prepared::Prepared;
use crate::job::resume::ContainerRef;
use crate::network::JobNetwork;
use bollard::models::ContainerInspectResponse;
use executor_core::Cancellation;
use std::path::Path;
use std::sync::Arc;
use steps::{RecordedRuns, RunRecord};

/// The job to resume.
#[derive(Debug)]
pub(crate) struct Adoption {
    pub(crate) container_ref: ContainerRef,
    pub(crate) runs: RecordedRuns,
}

/// Finds the container and its other objects; creates nothing.
///
/// All of them are listed as created, also when the container is gone: the cleanup removes the rest.
pub(crate) async fn adopt(
    preparation: &Preparation,
    adoption: Adoption,
    made: &mut CreatedResources,
    cancellation: &Cancellation,
) -> Result<Prepared, DockerError> {
    let Adoption {
        container_ref,
        runs,
    } = adoption;
    let (engine, options) = (&preparation.engine, &preparation.options);
    if container_ref.job != options.job.id {
        return Err(DockerError::config(format!(
            "cannot resume job {}: this job is {}",
            container_ref.job, options.job.id
        )));
    }
    let names = Names::new(
        &container_ref.owner,
        container_ref.job,
        container_ref.attempt,
    );
    let found = engine
        .api()
        .inspect_container(&container_ref.container, None);
    let found = engine
        .call(format!("look at container {}", names.build()), found)
        .await;
    let found = match found {
        Ok(found) => Some(found),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error),
    };
    let is_other = |found: &ContainerInspectResponse| !is_of(found, &container_ref, &names);
    if found.as_ref().is_some_and(is_other) {
        return Err(DockerError::config(format!(
            "container {} does not belong to the job to resume",
            container_ref.container
        )));
    }
    let labels = Labels::of(&options.job, &container_ref.owner, container_ref.attempt)
        .with_container_labels(&preparation.settings.container_labels);
    let files = find_files(preparation, &container_ref, &names, &labels, made)?;
    made.container(&names.build());
    let volumes = resources::made_volumes(preparation, &names)?;
    let services = resources::services(preparation, &names, &labels, volumes.binds())?;
    made.volumes = Some(volumes);
    made.services = Some(services.clone());
    let reach = resources::network_mode(preparation, services.len())?;
    let network = Arc::new(JobNetwork::named(engine, reach, &names));
    made.network = Some(Arc::clone(&network));
    // Before a later failure, so that they are removed.
    services.adopt(&network).await;
    let lost = match found {
        Some(_) => current_end(engine, &container_ref.container).await,
        None => Some(ContainerEnd::Removed),
    };
    if let Some(end) = lost {
        return Err(end.error(&names.build()));
    }
    cancellation.check()?;
    let container = JobContainer::adopt(engine, container_ref.container.clone(), &names.build());
    let image = options.job.image.name.clone();
    let (client, details) = reach_agent(&container, &files, cancellation).await?;
    let details = details.ok_or_else(|| DockerError::config(fault::no_shell(&image)))?;
    let agent = AgentParts {
        client,
        prefix: names.base().to_owned(),
        record: RunRecord::new(container_ref.handle(), runs, preparation.observer.clone()),
    };
    let parts = Parts {
        container,
        files,
        services,
        details,
        transport: PreparedTransport::Agent(agent),
        rescuer: None,
    };
    let mut prepared = parts.assemble(preparation, &image)?;
    prepared.services.watch();
    prepared.are_ready = true;
    Ok(prepared)
}

/// Returns whether a container belongs to the job: ids come from a journal, which may be wrong.
fn is_of(found: &ContainerInspectResponse, container_ref: &ContainerRef, names: &Names) -> bool {
    let name = found.name.as_deref().unwrap_or_default();
    let is_named = name.trim_start_matches('/') == names.build();
    let labels = found.config.as_ref().and_then(|it| it.labels.as_ref());
    let has = |key: &str, value: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .map(String::as_str)
            == Some(value)
    };
    // A warm container has the job's name but not its labels.
    let is_labeled = has(JOB_ID, &container_ref.job.to_string())
        && has(ATTEMPT, &container_ref.attempt.to_string());
    has(OWNER, &container_ref.owner)
        && (is_labeled || is_named && has(WARM, "true"))
        && has(ROLE, Role::Build.as_str())
}

fn find_files(
    preparation: &Preparation,
    container_ref: &ContainerRef,
    names: &Names,
    labels: &Labels,
    made: &mut CreatedResources,
) -> Result<JobFiles, DockerError> {
    let Preparation { options, dirs, .. } = preparation;
    if !container_ref.mounted {
        return Ok(JobFiles::remote(dirs, labels));
    }
    let root =
        options.config.host_builds_dir.as_deref().ok_or_else(|| {
            DockerError::config("the files of the job to resume are on another host")
        })?;
    let private = container_ref.private.as_deref().unwrap_or(names.base());
    let files = JobFiles::mounted(Path::new(root), dirs, options, private)?;
    if let Some(host) = &files.host {
        made.directory(Path::new(&host.temp_dir))?;
    }
    if let Some(run) = files.agent_directory() {
        made.directory(&run)?;
    }
    Ok(files)
}
