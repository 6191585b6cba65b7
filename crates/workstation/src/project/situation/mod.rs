//! The situation that a pipeline is created for, and the context of its jobs.
//!
//! ```text
//! SituationOptions -> Situation -> PipelineContext (+ notes)
//! ```
//!
//! The working tree always runs, whatever branch or tag is simulated. So the commit is the one that is checked out,
//! also if the branch or tag exists and points to another, with a note. A job with the commit of other files would
//! build the wrong thing.

mod context;
mod error;
mod options;
mod remote_url;

pub(crate) use context::{Described, describe, stamp};
pub use error::SituationError;
pub(crate) use options::{PARENT, UPSTREAM};
pub use options::{SOURCES, Situation, SituationOptions, SituationRef};
pub(crate) use remote_url::{path_of_url, server_of_url};
