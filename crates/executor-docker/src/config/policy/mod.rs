//! What the operator lets jobs have: images, services, users, volumes, all rights.
//!
//! Each check compares what a job asks for, after variables are expanded, with a list of the settings.
//! An image is compared by its names in full and as people write them, a volume by the real path of
//! what would be mounted. What is refused says which list it is not on, and what that list has.

mod image;
mod pattern;
mod privileged;
mod pull;
mod real_path;
mod refusal;
#[cfg(test)]
mod tests;
mod user;
mod volume;

pub(crate) use image::is_on;
pub use image::{check_image, check_service};
pub use pattern::{Pattern, PatternError};
pub use privileged::{PrivilegedRole, check_privileged};
pub use pull::pull_policies;
pub use real_path::RealPath;
pub use refusal::Refusal;
pub use user::{check_user, effective_user};
pub use volume::{RequestedBy, check_volume};
