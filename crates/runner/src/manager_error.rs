use crate::config::SessionServerSettings;
use crate::debug::ListenAddress;
use crate::outbox::OutboxError;
use crate::session::SessionServer;
use std::io;
use std::net::TcpListener;

/// The error of a manager.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The outbox cannot be used.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    /// Metrics cannot be served on `listen_address`.
    #[error("listen on {address} for metrics")]
    Listen {
        /// The address.
        address: ListenAddress,
        /// The system's error.
        source: io::Error,
    },
    /// Terminals and ports cannot be served on `listen_address` of `[session_server]`.
    #[error("listen on {address} for the session server")]
    Session {
        /// The address.
        address: ListenAddress,
        /// The system's error.
        source: io::Error,
    },
}

/// Binds the address for metrics.
pub(crate) fn listen(address: &ListenAddress) -> Result<TcpListener, ManagerError> {
    address.bind().map_err(|source| ManagerError::Listen {
        address: address.clone(),
        source,
    })
}

/// Binds the address of the session server.
pub(crate) fn serve_sessions(
    settings: &SessionServerSettings,
) -> Result<SessionServer, ManagerError> {
    SessionServer::bind(settings).map_err(|source| ManagerError::Session {
        address: settings.listen_address.clone(),
        source,
    })
}
