//! bitrab's settings of a project: `[tool.bitrab]` in `pyproject.toml`, which only bitrab's dialect reads.
//!
//! A project's file is untrusted: it can choose only what is harmless for the user, and its paths are not used.

mod settings;
#[cfg(test)]
mod tests;

pub(crate) use settings::FILE as BITRAB_SETTINGS;
pub use settings::{BitrabSettings, ParallelBackend};
