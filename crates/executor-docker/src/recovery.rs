//! What is left in an engine of runs that are dead.

use crate::container;
use crate::engine::Engine;
use crate::error::DockerError;
use crate::labels::{KEEP, MANAGED, OWNER};
use bollard::query_parameters::{
    ListContainersOptions, ListNetworksOptions, ListVolumesOptions, RemoveVolumeOptions,
};
use fail_point::fail_point;
use std::collections::HashMap;

/// What a sweep removed, by name, and what it could not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// The containers that were removed, with all that ran in them.
    pub containers: Vec<String>,
    /// The networks that were removed.
    pub networks: Vec<String>,
    /// The volumes that were removed.
    pub volumes: Vec<String>,
    /// What could not be removed, and why; the next sweep tries again.
    pub failures: Vec<String>,
}

impl Swept {
    /// Returns whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Removes the containers, networks and volumes of all owners that live no more.
///
/// What outlives jobs on purpose, such as the volumes of caches, stays; so does what is not ours. It may
/// run at the same time as jobs of owners that live.
///
/// # Errors
///
/// When the engine does not tell what it has. What fails for a single thing is in the result.
pub async fn sweep(engine: &Engine, is_alive: impl Fn(&str) -> bool) -> Result<Swept, DockerError> {
    let dead = |labels: Option<&HashMap<String, String>>| {
        let Some(labels) = labels else { return false };
        let kept = labels.get(KEEP).is_some_and(|keep| keep == "true");
        !kept && labels.get(OWNER).is_some_and(|owner| !is_alive(owner))
    };
    let label = vec![format!("{MANAGED}=true")];
    let filters = HashMap::from([("label".to_owned(), label)]);
    let mut swept = Swept::default();

    let options = ListContainersOptions {
        all: true,
        filters: Some(filters.clone()),
        ..ListContainersOptions::default()
    };
    let found = engine.api().list_containers(Some(options));
    for found in engine.call("list containers", found).await? {
        let Some(id) = found.id.filter(|_| dead(found.labels.as_ref())) else {
            continue;
        };
        let name = found.names.and_then(|names| names.into_iter().next());
        let name = name.map_or_else(
            || id.clone(),
            |name| name.trim_start_matches('/').to_owned(),
        );
        let removed = container::remove(engine, &id).await.map(drop);
        note(&mut swept.containers, &mut swept.failures, name, removed);
    }

    let options = ListNetworksOptions {
        filters: Some(filters.clone()),
    };
    let found = engine.api().list_networks(Some(options));
    for found in engine.call("list networks", found).await? {
        let Some(name) = found.name.filter(|_| dead(found.labels.as_ref())) else {
            continue;
        };
        let id = found.id.unwrap_or_else(|| name.clone());
        let removed = fail_point!(
            "executor_docker::recovery::remove_network",
            engine.api().remove_network(&id).await
        );
        let removed = removed.map_err(|error| DockerError::from_api("remove it", error));
        note(&mut swept.networks, &mut swept.failures, name, removed);
    }

    let options = ListVolumesOptions {
        filters: Some(filters),
    };
    let found = engine.api().list_volumes(Some(options));
    let found = engine.call("list volumes", found).await?;
    for found in found.volumes.unwrap_or_default() {
        if !dead(Some(&found.labels)) {
            continue;
        }
        let options = RemoveVolumeOptions { force: true };
        let removed = fail_point!(
            "executor_docker::recovery::remove_volume",
            engine.api().remove_volume(&found.name, Some(options)).await
        );
        let removed = removed.map_err(|error| DockerError::from_api("remove it", error));
        note(&mut swept.volumes, &mut swept.failures, found.name, removed);
    }
    Ok(swept)
}

fn note(
    done: &mut Vec<String>,
    failures: &mut Vec<String>,
    name: String,
    removed: Result<(), DockerError>,
) {
    match removed {
        Ok(()) => done.push(name),
        // Somebody else was at it.
        Err(error) if error.is_not_found() => {}
        Err(error) => failures.push(format!("{name}: {error}")),
    }
}
