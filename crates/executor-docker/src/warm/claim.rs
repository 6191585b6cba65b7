//! A job takes a container that is ready.

use super::spare::Spare;
use crate::container;
use crate::container::watch::look;
use crate::creation::Creation;
use crate::doubt::unless_stopped;
use crate::error::DockerError;
use crate::made::Made;
use crate::readied::Readied;
use crate::workspace::JobFiles;
use executor_core::Cancellation;
use std::time::Duration;
use tokio::time::timeout;

/// How long a container may take to show that it is well; a new one would not be there much later.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);
/// How long the removal of one that is not well is waited for.
const REMOVAL: Duration = Duration::from_secs(30);

impl Creation<'_> {
    /// Makes the container the job's; `None` when it is not what it was, and is removed.
    ///
    /// From the beginning it is among what the job has made, so that it goes with it in any case.
    pub(super) async fn claim(
        &self,
        spare: Spare,
        made: &mut Made,
        cancellation: &Cancellation,
    ) -> Result<Option<Readied>, DockerError> {
        let Spare {
            mut container,
            inside,
            client,
            private,
            anchors,
            log,
            made: with_it,
        } = spare;
        made.take_over(with_it);
        let engine = container.engine().clone();
        let name = self.names.build();
        let id = container.id().to_owned();
        let asking = async {
            if !anchors.hold() {
                return Err("something else lies where its files were".to_owned());
            }
            let renamed = container.rename(&name);
            let seen = async {
                match look(&engine, &id).await {
                    Some(end) => Err(end.error(&name)),
                    None => Ok(()),
                }
            };
            let greeted = async {
                match &client {
                    Some(client) => client.hello(cancellation).await.map(drop),
                    None => Ok(()),
                }
            };
            let (renamed, seen, greeted) = tokio::join!(renamed, seen, greeted);
            seen.and(renamed).map_err(|error| error.to_string())?;
            greeted.map_err(|error| executor_core::chain(&error))
        };
        let asking = async { Ok(timeout(SIGN_OF_LIFE, asking).await) };
        let why = match unless_stopped(cancellation, asking).await? {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(_) => Some("it does not answer".to_owned()),
        };
        if let Some(why) = why {
            tracing::debug!(container = %id, why, "A container that was ready is of no use.");
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
        Ok(Some(Readied {
            container,
            files,
            inside,
            client,
        }))
    }
}
