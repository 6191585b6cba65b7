//! The removal of what a job made, which goes on without the job.

use crate::error::DockerError;
use crate::job::created_resources::CreatedResources;
use std::io;
use tokio::sync::oneshot;

/// What a job hears of the removal of what it made.
#[derive(Debug)]
enum RemovalEvent {
    /// Nothing of it runs any more.
    Dead,
    Failed(Box<FailedRemoval>),
}

/// What could not be removed while the job waited.
#[derive(Debug)]
pub(crate) struct FailedRemoval {
    /// None where the pool has ended with it; then the next start removes it.
    pub(crate) made: Option<CreatedResources>,
    pub(crate) error: DockerError,
}

/// A removal that somebody else does.
#[derive(Debug)]
pub(crate) struct BackgroundRemoval(oneshot::Receiver<RemovalEvent>);

impl BackgroundRemoval {
    /// Returns it, and what does it.
    pub(super) fn of(made: CreatedResources) -> (Self, impl Future<Output = ()> + Send) {
        let (tell, told) = oneshot::channel();
        (Self(told), remove(made, tell))
    }

    /// Waits until nothing of the job runs any more. Who stops waiting may come again.
    pub(crate) async fn until_dead(&mut self) -> Result<(), Box<FailedRemoval>> {
        match (&mut self.0).await {
            Ok(RemovalEvent::Dead) => Ok(()),
            Ok(RemovalEvent::Failed(left)) => Err(left),
            Err(_) => Err(Box::new(FailedRemoval {
                made: None,
                error: DockerError::Broken {
                    doing: "remove what the job made".to_owned(),
                    source: io::Error::other("its provider was shut down meanwhile").into(),
                },
            })),
        }
    }
}

async fn remove(mut made: CreatedResources, tell: oneshot::Sender<RemovalEvent>) {
    let mut tell = Some(tell);
    let is_dead = || {
        // The job may have waited long enough.
        let _ = tell.take().map(|tell| tell.send(RemovalEvent::Dead));
    };
    let removed = made.remove_and_tell(is_dead).await;
    let unheard = match (removed, tell) {
        (Ok(()), None) => None,
        (Ok(()), Some(tell)) => tell.send(RemovalEvent::Dead).err(),
        (Err(error), tell) => {
            let made = Some(made);
            let left = RemovalEvent::Failed(Box::new(FailedRemoval { made, error }));
            match tell {
                Some(tell) => tell.send(left).err(),
                None => Some(left),
            }
        }
    };
    if let Some(RemovalEvent::Failed(left)) = unheard {
        let error = executor_core::chain(&left.error);
        tracing::warn!(error = %error, "What a job made is left; the next start removes it.");
    }
}
