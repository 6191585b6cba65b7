//! The services of a job: their names, readiness and end.
//!
//! Decisions are pure functions ([`names_of`], [`ServiceVariables`], [`Probes`], [`PlannedServices`]); [`Services`]
//! executes them.

mod alias;
mod attachment;
mod ended;
mod exec;
mod host_probe;
mod inside_probe;
mod logs;
mod planned;
mod ports;
mod probe;
mod ready;
mod running;
mod services;
mod start;
mod variables;
mod waiting;
mod watching;

pub use alias::{AliasError, RequestedNames, ServiceNames, image_names, names_of};
pub use attachment::Attachment;
pub use planned::{PlannedService, PlannedServices};
pub use ports::BuildPorts;
pub use probe::{ContainerFacts, HealthCheck, Probe, ProbeError, Probes};
pub use services::{Services, ServicesOptions, captures_logs};
pub use variables::ServiceVariables;
