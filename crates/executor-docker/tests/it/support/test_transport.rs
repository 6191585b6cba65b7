//! Endpoints for sockets of single tests, over the transport that this round of the tests uses.

use crate::support::endpoints::{Certificates, Port};
use crate::support::{address, certificates};
use std::path::Path;

/// Forwards to a socket over the transport by which the tests reach the engine. Closed on drop.
pub(crate) struct TestEndpoint {
    address: String,
    _port: Option<Port>,
}

impl TestEndpoint {
    /// Opens an endpoint for this socket.
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

/// Returns whether the tests use a socket of this host. If not, records the test as skipped, and the caller
/// returns.
pub(crate) fn is_socket_or_skips(test: &str, reason: &str) -> bool {
    if address().starts_with("unix://") {
        return true;
    }
    executor_testkit::not_tested(test, reason);
    false
}
