//! The server's own reading of the pipeline file: GitLab's CI lint puts it together, and what is left
//! is done here, as for any other file.
//!
//! The lint knows the project's default branch, its variables and what it may include, and nothing
//! of the working tree but the one text it is sent. What that changes is in notes.

mod answer;
mod ask;
mod error;
mod notes;

pub use error::ApiModeError;

pub(crate) use answer::Merged;
pub(crate) use ask::ApiMode;

use notes::notes;
