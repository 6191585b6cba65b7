//! The settings of containers: the keys of `[runners.docker]`.
//!
//! Every key of GitLab Runner is either supported or refused with a reason; the guide's page `docker-keys.md` lists them.

mod check;
mod choice;
mod device;
mod docker_config;
mod gpus;
mod image_options;
mod key_style;
mod one_or_many;
mod options;
pub mod policy;
mod service;
mod size;
#[cfg(test)]
mod tests;
mod ulimit;
#[cfg(test)]
mod value_tests;

pub use check::{ConfigProblem, Severity};
pub(crate) use choice::is_builtin as is_builtin_network;
pub use choice::{EngineChoice, NetworkChoice, SourcesChoice};
pub use device::Device;
pub use docker_config::DockerConfig;
pub use gpus::Gpus;
pub use image_options::{ImageOptions, ImageOptionsError};
pub use key_style::KeyStyle;
pub use options::{DockerOptions, NAME};
pub use service::ServiceConfig;
pub use size::{Cpus, Size};
pub use ulimit::Ulimit;
