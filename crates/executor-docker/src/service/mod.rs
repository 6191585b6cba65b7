//! The services of a job: what they are called, when they are ready, and what becomes of them.
//!
//! What is decided is in plain functions ([`names_of`], [`ServiceVariables`], [`Probes`]).

mod alias;
mod probe;
mod variables;

pub use alias::{AliasError, ServiceNames, Wanted, image_names, names_of};
pub use probe::{ContainerFacts, HealthCheck, Probe, ProbeError, Probes};
pub use variables::ServiceVariables;
