//! Jobs that need not run again: what a job begins with is a key, and what one left that succeeded is
//! kept by it. See `docs/design/comfort.md`.
//!
//! Whoever is unsure runs the job: what cannot be read, written or understood here is no reason to fail,
//! and none to take what may be wrong.

pub(crate) mod fingerprint;

mod entry;
mod host;
mod job_key;
mod mentions;
mod options;
mod project_reuse;
mod replay;
mod runner;
mod secret;
mod store;
mod unfit;
mod variables;

pub use options::{ReuseMode, ReuseOptions};

pub(crate) use project_reuse::{ProjectReuse, of_run};
pub(crate) use runner::ReuseRunner;
pub(crate) use store::{KeptJob, ReuseStore};
