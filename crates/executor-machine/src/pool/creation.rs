//! The creation of a machine, from the call of the driver until it can have jobs.

use super::owner::within;
use crate::driver::{DriverError, MachineDriver};
use executor_core::Endpoint;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The creation of a machine.
pub(super) struct Creation {
    pub(super) name: Arc<str>,
    pub(super) driver: Arc<dyn MachineDriver>,
    pub(super) limit: Duration,
    pub(super) is_over: watch::Receiver<bool>,
}

impl Creation {
    /// Creates the machine, and waits until it can have jobs or the pool ends.
    pub(super) async fn run(&self) -> Result<Endpoint, DriverError> {
        let mut is_over = self.is_over.clone();
        let create = async {
            let endpoint = self.driver.create(&self.name).await?;
            tokio::select! {
                ready = self.driver.await_ready(&self.name, &endpoint) => ready?,
                _ = is_over.wait_for(|is_over| *is_over) => {
                    return Err(DriverError::new("the runner ends"));
                }
            }
            Ok(endpoint)
        };
        within(self.limit, create).await
    }
}
