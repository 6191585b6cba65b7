//! An environment of the driver, and the process that knows it.

use crate::connection::Connection;
use crate::driver::Driver;
use crate::error::DriverError;
use crate::message::{Capability, Description};
use parking_lot::Mutex;
use std::sync::Arc;

/// An environment that the driver was asked for, and that may exist.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) name: String,
    pub(crate) driver: Arc<Driver>,
    /// Whether it survives the driver process.
    pub(crate) can_reconnect: bool,
    connection: Mutex<Arc<Connection>>,
}

impl Environment {
    /// Returns a new name for an environment of this driver process.
    pub(crate) fn new(
        driver: Arc<Driver>,
        connection: Arc<Connection>,
        description: &Description,
    ) -> Self {
        Self {
            name: driver.new_environment(),
            driver,
            can_reconnect: description.has(Capability::Reconnect),
            connection: Mutex::new(connection),
        }
    }

    /// Returns a driver process that knows this environment; starts one if the environment has survived the last one.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, DriverError> {
        let connection = Arc::clone(&self.connection.lock());
        if connection.is_alive() {
            return Ok(connection);
        }
        if !self.can_reconnect {
            return Err(DriverError::EnvironmentGone);
        }
        let (connection, _) = self.driver.connect().await?;
        *self.connection.lock() = Arc::clone(&connection);
        Ok(connection)
    }
}
