//! A pipeline file as a GitLab merged it: the response of its lint API, read instead of the file.
//!
//! The server resolves includes, inputs, `extends` and references and returns one text without
//! locations, so that text becomes a file for messages to point into. Everything that depends on
//! the situation (rules, `only`, matrix, variables) is done here, as for any other file.

mod needs;
mod reading;
mod report;
mod subject;

pub(crate) use needs::ServerNeeds;
pub use reading::{MergedJob, ServerReading};
pub(crate) use report::report;
