//! The removal of a job's resources in the background.

use crate::error::DockerError;
use crate::job::created_resources::CreatedResources;
use std::io;
use tokio::sync::oneshot;

/// An event of a removal, for the job.
#[derive(Debug)]
enum RemovalEvent {
    /// No process of the job runs any more.
    Dead,
    Failed(Box<FailedRemoval>),
}

/// A removal that failed while the job waited.
#[derive(Debug)]
pub(crate) struct FailedRemoval {
    /// The remaining resources; none after a shutdown, where the next start removes them.
    pub(crate) made: Option<CreatedResources>,
    pub(crate) error: DockerError,
}

/// A removal that the pool performs.
#[derive(Debug)]
pub(crate) struct BackgroundRemoval(oneshot::Receiver<RemovalEvent>);

impl BackgroundRemoval {
    /// Returns the removal and the future that performs it.
    pub(super) fn of(made: CreatedResources) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, receiver) = oneshot::channel();
        (Self(receiver), remove(made, sender))
    }

    /// Waits until no process of the job runs any more.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    pub(crate) async fn until_dead(&mut self) -> Result<(), Box<FailedRemoval>> {
        match (&mut self.0).await {
            Ok(RemovalEvent::Dead) => Ok(()),
            Ok(RemovalEvent::Failed(left)) => Err(left),
            Err(_) => Err(Box::new(FailedRemoval {
                made: None,
                error: DockerError::Broken {
                    doing: "remove the resources of the job".to_owned(),
                    source: io::Error::other("the provider was shut down meanwhile").into(),
                },
            })),
        }
    }
}

async fn remove(mut made: CreatedResources, sender: oneshot::Sender<RemovalEvent>) {
    let mut sender = Some(sender);
    let is_dead = || {
        // The job may have stopped waiting.
        let _ = sender.take().map(|sender| sender.send(RemovalEvent::Dead));
    };
    let removed = made.remove_and_report_death(is_dead).await;
    let unheard = match (removed, sender) {
        (Ok(()), None) => None,
        (Ok(()), Some(sender)) => sender.send(RemovalEvent::Dead).err(),
        (Err(error), sender) => {
            let made = Some(made);
            let left = RemovalEvent::Failed(Box::new(FailedRemoval { made, error }));
            match sender {
                Some(sender) => sender.send(left).err(),
                None => Some(left),
            }
        }
    };
    if let Some(RemovalEvent::Failed(left)) = unheard {
        let error = executor_core::chain(&left.error);
        tracing::warn!(error = %error, "Resources of a job are left; the next start removes them.");
    }
}
