//! What the driver holds for a job, and the process that knows it.

use crate::connection::Connection;
use crate::driver::Driver;
use crate::error::DriverError;
use crate::message::{Capability, Description};
use parking_lot::Mutex;
use std::sync::Arc;

/// An environment that may exist, or reserved capacity.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) name: String,
    pub(crate) driver: Arc<Driver>,
    /// Whether it survives the driver process.
    pub(crate) can_reconnect: bool,
    what: &'static str,
    connection: Mutex<Arc<Connection>>,
}

impl Held {
    /// Returns a new name for an environment of this driver process.
    pub(crate) fn environment(
        driver: Arc<Driver>,
        connection: Arc<Connection>,
        description: &Description,
    ) -> Self {
        let name = driver.new_environment();
        Self {
            what: "environment",
            ..Self::lease(name, driver, connection, description)
        }
    }

    /// Returns capacity that this driver process has reserved.
    pub(crate) fn lease(
        name: String,
        driver: Arc<Driver>,
        connection: Arc<Connection>,
        description: &Description,
    ) -> Self {
        Self {
            name,
            driver,
            can_reconnect: description.has(Capability::Reconnect),
            what: "lease",
            connection: Mutex::new(connection),
        }
    }

    /// Returns a driver process that knows it; starts one if it has survived the last one.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, DriverError> {
        let connection = Arc::clone(&self.connection.lock());
        if connection.is_alive() {
            return Ok(connection);
        }
        if !self.can_reconnect {
            return Err(DriverError::Gone(self.what));
        }
        let (connection, _) = self.driver.connect().await?;
        *self.connection.lock() = Arc::clone(&connection);
        Ok(connection)
    }
}
