//! What the engine is asked for when a container is created, as plain functions of plans and settings.
//!
//! No value of a job's variables is in what they return: the engine shows it to everybody who may ask
//! (`docker inspect`). Those of a service are, as its image reads them from there.

mod allowed_options;
mod build;
mod host;
mod plan;
mod security;
#[cfg(test)]
mod tests;

pub use allowed_options::AllowedOptions;
pub use build::{build_container, service_container};
pub use plan::{ContainerPlan, ContainerRole, Entrypoint, NetworkPlan, ServicePlan, StandardInput};
pub use security::{SecurityError, read_seccomp};
