//! Reusing results of earlier jobs with the same inputs. A digest of the inputs is the key of a result. See
//! `docs/design/comfort.md`.
//!
//! When in doubt, the job runs: nothing here makes a job fail, and no doubtful result is reused.

pub(crate) mod fingerprint;

mod entry;
mod host_env;
mod job_key;
mod job_texts;
mod not_reusable;
mod options;
mod project_reuse;
mod replay;
mod reuse_runner;
mod secret;
mod store;
mod variable_kind;

pub use options::{ReuseMode, ReuseOptions};

pub(crate) use project_reuse::{ProjectReuse, of_run};
pub(crate) use reuse_runner::ReuseRunner;
pub(crate) use store::ReuseStore;
