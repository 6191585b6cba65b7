//! A container that is ready and has no job yet.

use super::anchors::Anchors;
use super::relay::Relay;
use crate::error::DockerError;
use crate::job::container::JobContainer;
use crate::job::container::ready::Inside;
use crate::job::created_resources::CreatedResources;
use std::sync::Arc;
use steps::StepsClient;

/// Such a container, and all that was made for it.
#[derive(Debug)]
pub(super) struct Spare {
    pub(super) container: JobContainer,
    pub(super) inside: Option<Inside>,
    pub(super) client: Option<StepsClient>,
    /// What its private directory on this host is called.
    pub(super) private: String,
    pub(super) anchors: Anchors,
    pub(super) log: Arc<Relay>,
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
