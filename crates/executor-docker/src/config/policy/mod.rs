//! The images, services, users, volumes and privileges that the settings allow jobs.
//!
//! Each check compares a request of a job, after the expansion of variables, with a list of the settings. Images are
//! compared by full and short names, volumes by the real path of their source. A refusal names the list and its entries.

mod image;
mod pattern;
mod privileged;
mod real_path;
mod refusal;
#[cfg(test)]
mod tests;
mod user;
mod volume;

pub(crate) use image::is_on;
pub use image::{check_image, check_service, pull_policies};
pub use pattern::{Pattern, PatternError};
pub use privileged::{PrivilegedRole, check_privileged};
pub use real_path::RealPath;
pub use refusal::Refusal;
pub use user::{check_user, effective_user};
pub use volume::{RequestedBy, check_volume};
