//! A source of machines: a cloud, a tool, a list of hosts.

use async_trait::async_trait;
use executor_core::{BoxError, Endpoint};
use std::fmt::Debug;

/// Creates and removes machines.
///
/// The names are the pool's. They are how a machine is found again whose creation was never answered, so a driver stores
/// them with the machine: as its name, a tag, a label. All methods may be called at the same time, though never two of them
/// for the same machine. The pool gives each call a deadline and drops its future there.
#[async_trait]
pub trait MachineDriver: Send + Sync + Debug {
    /// Returns the names of the machines that begin with `prefix`, in any state.
    ///
    /// # Errors
    ///
    /// When they cannot be listed. The pool creates nothing before they were.
    async fn list(&self, prefix: &str) -> Result<Vec<String>, DriverError>;

    /// Creates the machine and waits until it can have jobs. A machine of this name that exists is taken as it is, and
    /// finished.
    ///
    /// # Errors
    ///
    /// Whatever fails. The pool then calls [`remove`](Self::remove).
    async fn create(&self, name: &str) -> Result<Endpoint, DriverError>;

    /// Waits until a machine that was created can have jobs, where `create` does not. Default: it can.
    ///
    /// # Errors
    ///
    /// Whatever fails. The pool then calls [`remove`](Self::remove).
    ///
    /// # Cancellation
    ///
    /// Safe to drop: the pool does so when it ends.
    async fn await_ready(&self, _name: &str, _endpoint: &Endpoint) -> Result<(), DriverError> {
        Ok(())
    }

    /// Returns whether the machine can have jobs.
    ///
    /// # Errors
    ///
    /// When it cannot, or does not answer.
    async fn check(&self, name: &str, endpoint: &Endpoint) -> Result<(), DriverError>;

    /// Removes the machine with everything that belongs to it. One that does not exist, or only half, is no error.
    ///
    /// # Errors
    ///
    /// When something may be left. The pool calls it again, after a pause.
    async fn remove(&self, name: &str) -> Result<(), DriverError>;
}

/// The error of a driver.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct DriverError {
    /// What was attempted.
    pub message: String,
    /// The cause.
    #[source]
    pub source: Option<BoxError>,
}

impl DriverError {
    /// Returns an error without a source error.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }
}
