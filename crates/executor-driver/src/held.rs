//! What the driver holds for a job, and the process that knows it.

use crate::connection::Connection;
use crate::driver::Driver;
use crate::error::DriverError;
use crate::message::{Capability, Description};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// The kinds of what a driver holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeldKind {
    Environment,
    Lease,
}

impl fmt::Display for HeldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Environment => "environment",
            Self::Lease => "lease",
        })
    }
}

/// An environment that may exist, or reserved capacity.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) name: String,
    pub(crate) driver: Arc<Driver>,
    /// Whether it survives the driver process.
    pub(crate) can_reconnect: bool,
    kind: HeldKind,
    connection: Mutex<Arc<Connection>>,
}

impl Held {
    /// Returns what this driver process holds under a name.
    pub(crate) fn new(
        kind: HeldKind,
        name: String,
        driver: Arc<Driver>,
        connection: Arc<Connection>,
        description: &Description,
    ) -> Self {
        Self {
            name,
            driver,
            can_reconnect: description.has(Capability::Reconnect),
            kind,
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
            return Err(DriverError::Gone(self.kind));
        }
        let (connection, _) = self.driver.connect().await?;
        *self.connection.lock() = Arc::clone(&connection);
        Ok(connection)
    }
}
