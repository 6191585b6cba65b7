//! The deployment environments of a project on this machine: what was deployed where, and what stops it.
//!
//! [`Environments`] is the list of a project, [`Environment`] one of them. Successful jobs change it, as in
//! GitLab: see [`EnvironmentStep`].

mod environment;
mod error;
mod runner;
mod step;
mod store;

pub use environment::{Deployment, Environment, EnvironmentState};
pub use error::EnvironmentsError;
pub use runner::EnvironmentRunner;
pub use step::EnvironmentStep;
pub use store::Environments;

pub(crate) use runner::note;
