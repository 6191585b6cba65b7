//! Going on with jobs that an earlier process has begun, in the environments that it left.
//!
//! See `docs/design/docker.md`, "Recovery".

mod go_on;
mod note;
mod notes;
mod noting;

pub(crate) use go_on::GoingOn;
pub use note::JobNote;
pub use notes::JobNotes;
pub(crate) use noting::Noting;
