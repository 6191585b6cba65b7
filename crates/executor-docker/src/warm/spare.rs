//! A container that is ready and has no job yet, and how a job claims it.

use super::held_paths::HeldPaths;
use super::relay::TraceRelay;
use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::job::container;
use crate::job::container::JobContainer;
use crate::job::container::ready::ContainerDetails;
use crate::job::container::watch::current_end;
use crate::job::created_resources::CreatedResources;
use crate::job::files::JobFiles;
use crate::job::prepare::creation::Creation;
use crate::job::prepare::started_container::StartedContainer;
use executor_core::{Cancellation, JobTraceExt};
use std::sync::Arc;
use std::time::Duration;
use steps::StepsClient;
use tokio::time::timeout;

/// How long its agent may take to show that it is well; a new one would not be there much later.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// How long the engine may take to rename it: one that is busy would need much longer to make another.
const RENAMING: Duration = Duration::from_secs(25);
/// How long the removal of one that is not well is waited for.
const REMOVAL: Duration = Duration::from_secs(30);

/// Such a container, and all that was made for it.
#[derive(Debug)]
pub(super) struct Spare {
    pub(super) container: JobContainer,
    pub(super) details: Option<ContainerDetails>,
    pub(super) client: Option<StepsClient>,
    /// What its private directory on this host is called.
    pub(super) private: String,
    pub(super) held_paths: HeldPaths,
    pub(super) log: Arc<TraceRelay>,
    pub(super) made: CreatedResources,
}

impl Spare {
    /// Removes all of it.
    pub(super) async fn remove(mut self) -> Result<(), DockerError> {
        // It is not to be noticed as an end that nobody asked for.
        drop(self.container);
        self.made.remove().await
    }
}

impl Creation<'_> {
    /// Makes the container the job's; `None` when it is not what it was, and is removed.
    ///
    /// From the beginning it is among what the job has made, so that it goes with it in any case.
    pub(super) async fn claim(
        &self,
        spare: Spare,
        made: &mut CreatedResources,
        cancellation: &Cancellation,
    ) -> Result<Option<StartedContainer>, DockerError> {
        let Spare {
            mut container,
            details,
            client,
            private,
            held_paths,
            log,
            made: with_it,
        } = spare;
        made.take_over(with_it);
        let engine = container.engine().clone();
        let name = self.names.build();
        let id = container.id().to_owned();
        let asking = async {
            if !held_paths.are_unchanged() {
                return Err("something else lies where its files were".to_owned());
            }
            let renamed = async {
                let renamed = timeout(RENAMING, container.rename(&name)).await;
                let renamed = renamed.map_err(|_| "the engine does not rename it".to_owned())?;
                renamed.map_err(|error| executor_core::chain(&error))
            };
            // It has a deadline of its own.
            let seen = async {
                match current_end(&engine, &id).await {
                    Some(end) => Err(end.error(&name).to_string()),
                    None => Ok(()),
                }
            };
            let greeted = async {
                let Some(client) = &client else {
                    return Ok(());
                };
                let greeted = timeout(SIGN_OF_LIFE, client.hello(cancellation)).await;
                let greeted = greeted.map_err(|_| "its agent does not answer".to_owned())?;
                greeted
                    .map(drop)
                    .map_err(|error| executor_core::chain(&error))
            };
            tokio::try_join!(seen, renamed, greeted).map(drop)
        };
        let asking = async { Ok(asking.await) };
        let why = unless_stopped(cancellation, asking).await?.err();
        if let Some(why) = why {
            let trace = &self.preparation.options.trace;
            trace.system_line(&format!("A container that was ready is of no use: {why}."));
            // Its name may be the job's already.
            let removal = container::remove(&engine, &id);
            let removal = async { Ok(timeout(REMOVAL, removal).await) };
            let _ = unless_stopped(cancellation, removal).await?;
            return Ok(None);
        }
        let options = &self.preparation.options;
        log.attach(&options.trace);
        let root = self.root_to_mount().ok_or_else(|| {
            DockerError::config("the files of a container that was ready are not here")
        })?;
        let files = JobFiles::mounted(root, &self.preparation.dirs, options, &private)?;
        Ok(Some(StartedContainer {
            container,
            files,
            details,
            client,
        }))
    }
}
