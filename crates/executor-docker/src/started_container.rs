//! A container that stages can run in.

use crate::assemble::reach_agent;
use crate::container::JobContainer;
use crate::container::ready::Inside;
use crate::created_resources::CreatedResources;
use crate::creation::Creation;
use crate::error::DockerError;
use crate::stage_transport::Tactic;
use crate::workspace::JobFiles;
use executor_core::Cancellation;
use steps::StepsClient;

/// A container that has begun, and what it found.
#[derive(Debug)]
pub(crate) struct StartedContainer {
    pub(crate) container: JobContainer,
    pub(crate) files: JobFiles,
    /// None where there is no shell.
    pub(crate) inside: Option<Inside>,
    /// What its agent is asked through, where it has one.
    pub(crate) client: Option<StepsClient>,
}

impl Creation<'_> {
    /// Creates the container, starts it, and waits until stages can run in it.
    pub(crate) async fn ready(
        &self,
        made: &mut CreatedResources,
        cancellation: &Cancellation,
    ) -> Result<StartedContainer, DockerError> {
        let (container, files, line) = self.begin(made, cancellation).await?;
        let (inside, client) = match self.tactic {
            Tactic::Exec | Tactic::Attach => (Inside::read(&line), None),
            Tactic::Agent(_) => {
                let (client, inside) = reach_agent(&container, &files, cancellation).await?;
                (inside, Some(client))
            }
        };
        Ok(StartedContainer {
            container,
            files,
            inside,
            client,
        })
    }
}
