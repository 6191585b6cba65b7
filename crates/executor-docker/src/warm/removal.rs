//! The removal of what a job made, which goes on without the job.

use crate::error::DockerError;
use crate::job::created_resources::CreatedResources;
use std::io;
use tokio::sync::oneshot;

/// What a job hears of the removal of what it made.
#[derive(Debug)]
enum Told {
    /// Nothing of it runs any more.
    Dead,
    Left(Box<Left>),
}

/// What could not be removed while the job waited.
#[derive(Debug)]
pub(crate) struct Left {
    /// None where the pool has ended with it; then the next start removes it.
    pub(crate) made: Option<CreatedResources>,
    pub(crate) error: DockerError,
}

/// A removal that somebody else does.
#[derive(Debug)]
pub(crate) struct Removal(oneshot::Receiver<Told>);

impl Removal {
    /// Returns it, and what does it.
    pub(super) fn of(made: CreatedResources) -> (Self, impl Future<Output = ()> + Send) {
        let (tell, told) = oneshot::channel();
        (Self(told), remove(made, tell))
    }

    /// Waits until nothing of the job runs any more. Who stops waiting may come again.
    pub(crate) async fn until_dead(&mut self) -> Result<(), Box<Left>> {
        match (&mut self.0).await {
            Ok(Told::Dead) => Ok(()),
            Ok(Told::Left(left)) => Err(left),
            Err(_) => Err(Box::new(Left {
                made: None,
                error: DockerError::Broken {
                    doing: "remove what the job made".to_owned(),
                    source: io::Error::other("its provider was shut down meanwhile").into(),
                },
            })),
        }
    }
}

async fn remove(mut made: CreatedResources, tell: oneshot::Sender<Told>) {
    let mut tell = Some(tell);
    let is_dead = || {
        // The job may have waited long enough.
        let _ = tell.take().map(|tell| tell.send(Told::Dead));
    };
    let removed = made.remove_and_tell(is_dead).await;
    let unheard = match (removed, tell) {
        (Ok(()), None) => None,
        (Ok(()), Some(tell)) => tell.send(Told::Dead).err(),
        (Err(error), tell) => {
            let made = Some(made);
            let left = Told::Left(Box::new(Left { made, error }));
            match tell {
                Some(tell) => tell.send(left).err(),
                None => Some(left),
            }
        }
    };
    if let Some(Told::Left(left)) = unheard {
        let error = executor_core::chain(&left.error);
        tracing::warn!(error = %error, "What a job made is left; the next start removes it.");
    }
}
