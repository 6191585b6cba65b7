//! The helper container, for stages of the runner itself.

use crate::engine::Engine;
use crate::engine::pending_request::{PendingRequest, unless_stopped};
use crate::error::DockerError;
use crate::job::container::execs::Execs;
use crate::job::container::watch::end_of_run;
use crate::job::container::{JobContainer, attached, fault};
use bollard::models::ContainerCreateBody;
use executor_core::Cancellation;
use futures_util::StreamExt;
use tokio::io::AsyncWriteExt;

/// The request that creates the container when a stage first needs it.
#[derive(Debug, Clone)]
pub(crate) struct HelperPlan {
    pub(crate) engine: Engine,
    pub(crate) name: String,
    /// The image's name.
    pub(crate) image: String,
    pub(crate) platform: Option<String>,
    pub(crate) body: ContainerCreateBody,
    /// An archive for its root.
    pub(crate) root: Option<Vec<u8>>,
    /// The state of the create request.
    pub(crate) pending: PendingRequest,
}

/// The helper container, created when it is first needed.
#[derive(Debug)]
pub(crate) struct Helper {
    plan: HelperPlan,
    created: Option<Execs>,
}

impl Helper {
    /// Returns a helper without a container.
    pub(crate) fn new(plan: HelperPlan) -> Self {
        Self {
            plan,
            created: None,
        }
    }

    /// Returns the name of its image.
    pub(crate) fn image(&self) -> &str {
        &self.plan.image
    }

    /// Returns the container, creating it when necessary.
    pub(crate) async fn container(
        &mut self,
        cancellation: &Cancellation,
    ) -> Result<Execs, DockerError> {
        if let Some(created) = &self.created {
            return Ok(created.clone());
        }
        let HelperPlan {
            engine,
            name,
            image,
            platform,
            body,
            root,
            pending,
        } = &self.plan;
        let (platform, body) = (platform.as_deref(), body.clone());
        let container = JobContainer::create(engine, name, platform, body, pending, cancellation);
        let container = container.await;
        let container = container.map_err(|error| fault::explain(image, error))?;
        if let Some(root) = root {
            unless_stopped(cancellation, container.upload("/", root.clone())).await?;
        }
        Ok(self.created.insert(container.execs()).clone())
    }

    /// Runs a script to its end; ignores its output.
    pub(crate) async fn run(&mut self, script: String) -> Result<(), DockerError> {
        let container = self.container(&Cancellation::new()).await?;
        let mut running = attached::start(&container, self.image()).await?;
        // A shell that ended early stops reading.
        let _ = running.input.write_all(script.as_bytes()).await;
        let _ = running.input.shutdown().await;
        while let Some(Ok(_)) = running.output.next().await {}
        end_of_run(&container.engine, &container.container).await;
        Ok(())
    }
}
