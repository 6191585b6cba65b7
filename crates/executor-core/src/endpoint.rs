//! How a machine is reached.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How the machine that a layer has reserved for a job is reached.
///
/// A layer that provides machines puts it into the [`ExecutorData`](crate::ExecutorData); the executor inside uses it in place
/// of the host of its own settings, and knows nothing of where machines come from.
///
/// As JSON it is `{"engine": {"host": ".."}}` or `{"ssh": {"host": ".."}}`; other fields than the host may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Endpoint {
    /// An engine for containers.
    Engine {
        /// Its address, as `tcp://10.0.0.7:2376` or `unix:///run/engine.sock`.
        host: String,
        /// The directory with `ca.pem`, `cert.pem` and `key.pem`, when it speaks TLS. The server's certificate is always
        /// checked.
        tls_cert_path: Option<PathBuf>,
    },
    /// An SSH server.
    Ssh {
        /// Its name or address.
        host: String,
        /// Its port.
        #[serde(default = "ssh_port")]
        port: u16,
        /// The user there; `None` leaves it to the executor's settings.
        user: Option<String>,
        /// The private key; `None` leaves it to the executor's settings.
        identity_file: Option<PathBuf>,
        /// The file with its host key; `None` leaves it to the executor's settings.
        known_hosts_file: Option<PathBuf>,
    },
}

fn ssh_port() -> u16 {
    22
}
