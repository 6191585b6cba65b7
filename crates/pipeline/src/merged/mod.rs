//! A pipeline file as a GitLab merged it: the answer of its lint, read in the place of the file.
//!
//! The server follows includes, puts inputs in, applies `extends` and resolves references; what it
//! gives back is one text without places of its own, so it becomes a file that messages point into.
//! All that depends on the situation (rules, `only`, matrix, variables) is done here, as for any
//! other file.

mod findings;
mod needs;
mod place;
mod reading;

pub(crate) use findings::report;
pub(crate) use needs::ServerNeeds;
pub use reading::{MergedJob, ServerReading};
