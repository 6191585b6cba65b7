//! The bodies of create requests, as pure functions of plans and settings.
//!
//! They hold no value of a job's variables, because `docker inspect` shows them. Those of a service are included, as its
//! image reads them there.

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
