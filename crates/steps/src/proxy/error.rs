use std::io;
use std::path::PathBuf;

/// Why two ends could not be joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// Nobody listens on the socket.
    #[error(
        "no service listens on {}; is `runwright-agent serve` running here?",
        socket.display()
    )]
    NoService {
        /// Where it should.
        socket: PathBuf,
        /// What connecting said.
        #[source]
        source: io::Error,
    },
    /// One of the ends broke.
    #[error("{action}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}
