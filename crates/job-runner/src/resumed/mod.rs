//! Going on with jobs that an earlier process has begun, in the environments that it left.
//!
//! See `docs/design/docker.md`, "Recovery".

mod note;
mod notes;
mod noting;
mod resume;

pub use note::JobNote;
pub use notes::JobNotes;
pub(crate) use noting::Noting;
pub(crate) use resume::ResumedJob;
