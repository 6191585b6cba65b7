//! The bodies of create requests, as pure functions of plans and settings.
//!
//! They hold values of variables only where a program of the image reads them, because `docker inspect` shows them: those
//! of a service, and those of a job whose container has an entry point.

mod allowed_options;
mod build;
mod host;
mod plan;
mod security;
#[cfg(test)]
mod tests;
mod variables;

pub use allowed_options::AllowedOptions;
pub use build::{build_container, service_container};
pub use plan::{ContainerPlan, ContainerRole, Entrypoint, NetworkPlan, ServicePlan, StandardInput};
pub use security::{SecurityError, read_seccomp};
pub(crate) use variables::environment_of_job;
