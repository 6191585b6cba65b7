//! A container that stages can run in.

use crate::error::DockerError;
use crate::job::container::JobContainer;
use crate::job::container::ready::ContainerDetails;
use crate::job::created_resources::CreatedResources;
use crate::job::files::JobFiles;
use crate::job::prepare::assemble::reach_agent;
use crate::job::prepare::creation::Creation;
use crate::job::stage::transport::StageTransport;
use executor_core::Cancellation;
use steps::StepsClient;

/// A container that has started, and its details.
#[derive(Debug)]
pub(crate) struct StartedContainer {
    pub(crate) container: JobContainer,
    pub(crate) files: JobFiles,
    /// None where there is no shell.
    pub(crate) details: Option<ContainerDetails>,
    /// The client of its agent, if it has one.
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
        let (details, client) = match self.transport {
            StageTransport::Exec | StageTransport::Attach => (ContainerDetails::read(&line), None),
            StageTransport::Agent(_) => {
                let (client, details) = reach_agent(&container, &files, cancellation).await?;
                (details, Some(client))
            }
        };
        Ok(StartedContainer {
            container,
            files,
            details,
            client,
        })
    }
}
