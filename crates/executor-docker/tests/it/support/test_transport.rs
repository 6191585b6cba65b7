//! The way of this round of the tests, to sockets of their own.

use crate::support::endpoints::{Certificates, Port};
use crate::support::{address, certificates};
use std::path::Path;

/// Leads to a socket over what the engine of the tests is reached over, until this is dropped.
pub(crate) struct Road {
    address: String,
    _port: Option<Port>,
}

impl Road {
    /// Opens one.
    pub(crate) fn to(socket: &Path) -> Self {
        let engine = address();
        let (address, port) = if engine.starts_with("ssh://") {
            (format!("{engine}{}", socket.display()), None)
        } else if let Some(directory) = certificates() {
            let port = Port::tls_to(&Certificates::of(directory), socket);
            (format!("tcp://127.0.0.1:{}", port.number), Some(port))
        } else {
            (format!("unix://{}", socket.display()), None)
        };
        Self {
            address,
            _port: port,
        }
    }

    /// Returns the address to connect to.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

/// Returns whether the tests go over a socket of this host. Where they do not, this says so for the list of what is
/// not tested, and the test is to return.
pub(crate) fn is_socket_or_skips(test: &str, reason: &str) -> bool {
    if address().starts_with("unix://") {
        return true;
    }
    executor_testkit::not_tested(test, reason);
    false
}
