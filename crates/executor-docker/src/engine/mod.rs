//! The container engine: its address, the connection to it, names and labels of our objects in it.

mod address;
mod connected;
mod connection;
mod connector;
mod context;
mod get;
mod host;
mod host_lookup;
pub mod labels;
pub mod names;
pub(crate) mod pending_request;
mod ssh;
mod tls;
mod transport;
mod version;

pub use address::Address;
pub use connected::Engine;
pub use host::{DockerHost, EngineOptions, HostOrigin};
pub use host_lookup::HostSettings;
pub use tls::TlsFiles;
pub use version::{ApiVersion, EngineVersion};
