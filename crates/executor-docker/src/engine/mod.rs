//! Where the container engine is, and the way to it.

mod address;
mod connected;
mod connection;
mod connector;
mod context;
mod get;
mod host;
pub mod labels;
pub mod names;
mod options;
pub(crate) mod pending_request;
mod ssh;
mod tls;
mod transport;
mod version;

pub use address::Address;
pub use connected::Engine;
pub use host::{DockerHost, HostOrigin, HostSettings};
pub use options::EngineOptions;
pub use tls::TlsFiles;
pub use version::{ApiVersion, EngineVersion};
