//! The situation a pipeline is simulated in, and what its jobs know of it.
//!
//! ```text
//! SituationOptions -> Situation -> PipelineContext (+ notes)
//! ```
//!
//! What runs is always the working tree, whatever branch or tag is simulated: so the commit is the
//! one that is checked out, also when the branch or tag exists and points elsewhere, which a note
//! then says. A job that is told another commit than the one of its files would build the wrong
//! thing.

mod context;
mod error;
mod options;
mod remote;
mod source;

pub(crate) use context::{Described, describe, stamp};
pub use error::SituationError;
pub use options::{Situation, SituationOptions, SituationRef};
pub(crate) use remote::{path_of_url, server_of_url};
pub use source::SOURCES;
pub(crate) use source::{PARENT, UPSTREAM};
