//! Runs jobs with an image in containers, and all others on this host.

mod executor;
mod provider;

pub use executor::ByImageExecutor;
pub use provider::ByImage;
