//! The objects that a job created outside of this process, for their removal.

use crate::engine::Engine;
use crate::engine::pending_request::PendingRequest;
use crate::error::DockerError;
use crate::job::container;
use crate::job::container::watch::wait_for_death;
use crate::network::JobNetwork;
use crate::service::Services;
use crate::volume::JobVolumes;
use fail_point::fail_point;
use process::Supervisor;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::JoinSet;

/// The objects that a job created or was about to create.
#[derive(Debug)]
pub(crate) struct CreatedResources {
    engine: Engine,
    supervisor: Option<Supervisor>,
    containers: Vec<(String, PendingRequest)>,
    /// The job's network, its own or an existing one.
    pub(crate) network: Option<Arc<JobNetwork>>,
    pub(crate) services: Option<Services>,
    pub(crate) volumes: Option<JobVolumes>,
    directories: Vec<PathBuf>,
    /// Whether the pool may remove the objects in the background.
    pub(crate) is_of_pool: bool,
}

impl CreatedResources {
    /// Returns an empty list.
    pub(crate) fn new(engine: Engine, supervisor: Option<Supervisor>) -> Self {
        Self {
            engine,
            supervisor,
            containers: Vec::new(),
            network: None,
            services: None,
            volumes: None,
            directories: Vec::new(),
            is_of_pool: false,
        }
    }

    /// Adds a container by its name before it is created; returns the state of the request.
    pub(crate) fn container(&mut self, name: &str) -> PendingRequest {
        let pending = PendingRequest::default();
        self.containers.push((name.to_owned(), pending.clone()));
        pending
    }

    /// Adds a private directory of the job before it is created.
    pub(crate) fn directory(&mut self, path: &Path) -> Result<(), DockerError> {
        if let Some(journal) = self.supervisor.as_ref().and_then(Supervisor::journal) {
            journal
                .record_dir(path)
                .map_err(|error| DockerError::Broken {
                    doing: "record the temporary directory".to_owned(),
                    source: error.into(),
                })?;
        }
        self.directories.push(path.to_owned());
        Ok(())
    }

    /// Replaces the name of a created container by its id, which a rename does not change.
    pub(crate) fn set_container_id(&mut self, name: &str, id: &str) {
        for (noted, pending) in &mut self.containers {
            if noted == name {
                id.clone_into(noted);
                *pending = PendingRequest::none();
            }
        }
    }

    /// Takes over the containers and directories of `other`.
    pub(crate) fn take_over(&mut self, mut other: Self) {
        self.containers.append(&mut other.containers);
        self.directories.append(&mut other.directories);
    }

    /// Removes all objects. Calls `is_dead` as soon as no process of them runs, when that is known earlier.
    pub(crate) async fn remove_and_report_death(
        &mut self,
        is_dead: impl FnOnce(),
    ) -> Result<(), DockerError> {
        let death = only_container(&self.containers)
            .map(|container| wait_for_death(self.engine.clone(), container.to_owned()));
        let reporting = async {
            if let Some(death) = death {
                death.await;
                is_dead();
            }
            std::future::pending().await
        };
        // The request for the event goes first.
        tokio::select! {
            biased;
            removed = reporting => removed,
            removed = self.remove() => removed,
        }
    }

    /// Removes all objects. Those that could not be removed stay in the list.
    pub(crate) async fn remove(&mut self) -> Result<(), DockerError> {
        let mut removals = JoinSet::new();
        for (name, pending) in &self.containers {
            let (engine, name, pending) = (self.engine.clone(), name.clone(), pending.clone());
            removals
                .spawn(async move { pending.settle(|| container::remove(&engine, &name)).await });
        }
        let services = async {
            match &self.services {
                Some(services) => services.remove().await,
                None => Ok(()),
            }
        };
        let mut first = services.await;
        while let Some(removed) = removals.join_next().await {
            let removed = removed.unwrap_or_else(|panic| {
                Err(DockerError::Broken {
                    doing: "remove a container".to_owned(),
                    source: panic.into(),
                })
            });
            first = first.and(removed);
        }
        first?;
        self.containers.clear();
        // A network or volume can be removed when no container uses it.
        let network = async {
            match &self.network {
                Some(network) => network.remove().await,
                None => Ok(()),
            }
        };
        let volumes = async {
            match &mut self.volumes {
                Some(volumes) => volumes.remove().await,
                None => Ok(()),
            }
        };
        let (network, volumes) = tokio::join!(network, volumes);
        network.and(volumes)?;
        (self.network, self.volumes, self.services) = (None, None, None);
        // Last, because a running container writes to them.
        while let Some(directory) = self.directories.last().cloned() {
            remove_directory(&directory).await?;
            if let Some(journal) = self.supervisor.as_ref().and_then(Supervisor::journal) {
                let forgotten = journal.forget_dir(&directory);
                forgotten.map_err(|error| failed(&directory, io::Error::other(error)))?;
            }
            self.directories.pop();
        }
        Ok(())
    }
}

/// Returns the only container that may exist. With several, an early report of the last death is not worth the effort.
/// The helper is listed before it is needed, and is often never created.
fn only_container(containers: &[(String, PendingRequest)]) -> Option<&str> {
    let mut asked = containers.iter().filter(|(_, pending)| pending.was_sent());
    match (asked.next(), asked.next()) {
        (Some((container, _)), None) => Some(container),
        _ => None,
    }
}

async fn remove_directory(directory: &Path) -> Result<(), DockerError> {
    let removed = fail_point!(
        "executor_docker::created_resources::remove_dir",
        process::remove_tree_off_thread(directory).await
    );
    removed.map_err(|source| failed(directory, source))
}

fn failed(directory: &Path, source: io::Error) -> DockerError {
    DockerError::Broken {
        doing: format!("remove temporary directory {}", directory.display()),
        source: source.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_that_was_never_created_does_not_count() {
        let there = |name: &str| (name.to_owned(), PendingRequest::none());
        let noted = |name: &str| (name.to_owned(), PendingRequest::default());
        assert_eq!(only_container(&[there("a"), noted("a-helper")]), Some("a"));
        assert_eq!(only_container(&[there("a"), there("a-helper")]), None);
        assert_eq!(only_container(&[noted("a")]), None);
    }
}
