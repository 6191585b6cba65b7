//! What projects that are run with bitrab say of their runs: `[tool.bitrab]` of `pyproject.toml`.
//!
//! Only bitrab's dialect reads it. A project's file is not the user's, so it chooses among what the
//! user may choose as well, and opens nothing: no path in it is followed.

mod read;
mod settings;
#[cfg(test)]
mod tests;

pub(crate) use read::FILE as BITRAB_SETTINGS;
pub use settings::{BitrabSettings, ParallelBackend};
