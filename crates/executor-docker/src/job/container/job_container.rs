//! The container of a job.

use crate::engine::Engine;
use crate::engine::pending_request::{PendingRequest, RemovalOutcome, unless_stopped};
use crate::error::DockerError;
use crate::job::container::execs::Execs;
use crate::job::container::watch::{ContainerEnd, watch};
use bollard::body_full;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{
    CreateContainerOptions, RemoveContainerOptions, RenameContainerOptions,
    UploadToContainerOptions,
};
use executor_core::Cancellation;
use fail_point::fail_point;
use std::io;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The time limit of a removal.
const REMOVAL: Duration = Duration::from_mins(1);
/// How long a failed removal is retried.
const RETURN: Duration = Duration::from_secs(30);
/// The pauses between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A created container, watched from its start.
#[derive(Debug)]
pub(crate) struct JobContainer {
    engine: Engine,
    id: String,
    name: String,
    end: watch::Receiver<Option<ContainerEnd>>,
    tell: Option<watch::Sender<Option<ContainerEnd>>>,
    /// Its tasks end when this value is dropped.
    watcher: JoinSet<()>,
}

impl JobContainer {
    /// Creates a container; `pending` tracks the request.
    pub(crate) async fn create(
        engine: &Engine,
        name: &str,
        platform: Option<&str>,
        body: ContainerCreateBody,
        pending: &PendingRequest,
        cancellation: &Cancellation,
    ) -> Result<Self, DockerError> {
        let options = CreateContainerOptions {
            name: Some(name.to_owned()),
            platform: platform.unwrap_or_default().to_owned(),
        };
        let creating = async {
            let created = fail_point!(
                "executor_docker::container::create",
                engine.api().create_container(Some(options), body).await
            );
            created
                .map_err(|error| DockerError::from_api(format!("create container {name}"), error))
        };
        let created = pending.track(unless_stopped(cancellation, creating));
        Ok(Self::of(engine, created.await?.id, name))
    }

    /// Takes over a running container and watches it.
    pub(crate) fn adopt(engine: &Engine, id: String, name: &str) -> Self {
        let mut container = Self::of(engine, id, name);
        container.watch();
        container
    }

    fn of(engine: &Engine, id: String, name: &str) -> Self {
        let (tell, end) = watch::channel(None);
        Self {
            engine: engine.clone(),
            id,
            name: name.to_owned(),
            end,
            tell: Some(tell),
            watcher: JoinSet::new(),
        }
    }

    /// Starts the container.
    pub(crate) async fn start(&mut self, cancellation: &Cancellation) -> Result<(), DockerError> {
        let starting = async {
            let started = fail_point!(
                "executor_docker::container::start",
                self.engine.api().start_container(&self.id, None).await
            );
            started.map_err(|error| {
                DockerError::from_api(format!("start container {}", self.name), error)
            })
        };
        unless_stopped(cancellation, starting).await?;
        self.watch();
        Ok(())
    }

    /// Renames the container.
    pub(crate) async fn rename(&mut self, name: &str) -> Result<(), DockerError> {
        let doing = format!("rename container {}", self.name);
        let options = RenameContainerOptions {
            name: name.to_owned(),
        };
        let renamed = fail_point!(
            "executor_docker::container::rename",
            self.engine.api().rename_container(&self.id, options).await
        );
        renamed.map_err(|error| DockerError::from_api(doing, error))?;
        name.clone_into(&mut self.name);
        Ok(())
    }

    fn watch(&mut self) {
        if let Some(tell) = self.tell.take() {
            let watching = watch(self.engine.clone(), self.id.clone(), tell);
            self.watcher.spawn(watching);
        }
    }

    /// Runs a task as long as this value exists.
    pub(crate) fn keep(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.watcher.spawn(task);
    }

    /// Returns its engine.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns its id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns a starter of processes in it.
    pub(crate) fn execs(&self) -> Execs {
        Execs {
            engine: self.engine.clone(),
            container: self.id.clone(),
            name: self.name.clone(),
        }
    }

    /// Returns the beginning of its host name, the short id, as the log shows it.
    pub(crate) fn hostname(&self) -> String {
        self.id.chars().take(12).collect()
    }

    /// Returns the receiver of its end.
    pub(crate) fn end(&self) -> watch::Receiver<Option<ContainerEnd>> {
        self.end.clone()
    }

    /// Returns the loss of the container, once it has ended.
    pub(crate) fn lost(&self) -> Option<DockerError> {
        let end = self.end.borrow();
        end.as_ref().map(|end| end.error(&self.name))
    }

    /// Unpacks a tar archive in it.
    pub(crate) async fn upload(
        &self,
        directory: &str,
        archive: Vec<u8>,
    ) -> Result<(), DockerError> {
        upload(&self.engine, &self.id, directory, archive).await
    }
}

/// Unpacks a tar archive in a container, whether it runs or not.
pub(crate) async fn upload(
    engine: &Engine,
    container: &str,
    directory: &str,
    archive: Vec<u8>,
) -> Result<(), DockerError> {
    let options = UploadToContainerOptions {
        path: directory.to_owned(),
        ..UploadToContainerOptions::default()
    };
    let body = body_full(archive.into());
    let uploaded = fail_point!(
        "executor_docker::container::upload",
        engine
            .api()
            .upload_to_container(container, Some(options), body)
            .await
    );
    uploaded.map_err(|error| DockerError::from_api(format!("copy files to {directory}"), error))
}

/// Waits for the end of a container; never returns when its watcher is gone.
pub(crate) async fn ended(end: &mut watch::Receiver<Option<ContainerEnd>>) -> ContainerEnd {
    let seen = end.wait_for(Option::is_some).await;
    let seen = seen.ok().and_then(|end| end.clone());
    match seen {
        Some(end) => end,
        None => std::future::pending().await,
    }
}

/// Kills and removes a container and its anonymous volumes; an absent container is not an error.
///
/// Waits for an engine that is away for a short time.
pub(crate) async fn remove(
    engine: &Engine,
    container: &str,
) -> Result<RemovalOutcome, DockerError> {
    let doing = || format!("remove container {container}");
    let begun = tokio::time::Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let options = RemoveContainerOptions {
            v: true,
            force: true,
            link: false,
        };
        let removal = engine.api().remove_container(container, Some(options));
        let removal = tokio::time::timeout(REMOVAL, removal);
        let removed = fail_point!(
            "executor_docker::container::remove",
            removal.await.map_err(io::Error::from)
        );
        let Ok(removed) = removed else {
            return Err(DockerError::Deadline {
                doing: doing(),
                after: REMOVAL,
            });
        };
        let error = match removed {
            Ok(()) => return Ok(RemovalOutcome::Removed),
            Err(error) => DockerError::from_api(doing(), error),
        };
        if error.is_not_found() {
            return Ok(RemovalOutcome::Absent);
        }
        // Another removal is running, the engine ends the container, or it restarts.
        if !error.is_temporary() || begun.elapsed() > RETURN {
            return Err(error);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
