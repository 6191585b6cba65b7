//! Sources of machines: programs, docker-machine, lists of hosts, engines of this host.

mod docker_machine;
#[cfg(feature = "local-engine")]
mod local_engine;
mod plugin;
pub(crate) mod program;
mod static_hosts;

pub use docker_machine::DockerMachine;
#[cfg(feature = "local-engine")]
pub use local_engine::{LocalEngineSettings, LocalEngines};
pub use plugin::PluginDriver;
pub use static_hosts::{StaticHost, StaticHosts};
