use std::io;
use std::path::PathBuf;

/// Why the proxy failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// There is no listener on the socket.
    #[error(
        "no service listens on {}; is `runwright-agent serve` running here?",
        socket.display()
    )]
    NoService {
        /// The path of the socket.
        socket: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Reading or writing failed.
    #[error("{action}")]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
}
