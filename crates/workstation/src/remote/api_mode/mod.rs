//! The server's own reading of the pipeline file: GitLab's CI lint merges it, and this program does the rest.
//!
//! The lint uses the project's default branch, its variables and its includes, and of the working tree only the
//! pipeline file itself. Notes report the differences.

mod answer;
mod ask;
mod error;
mod notes;

pub use error::ApiModeError;

pub(crate) use answer::Merged;
pub(crate) use ask::ApiMode;

use notes::notes;
