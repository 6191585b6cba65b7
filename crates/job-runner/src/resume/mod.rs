//! Resumes jobs of an earlier process in the environments that it left.
//!
//! See `docs/design/docker.md`, "Recovery".

mod note;
mod note_writer;
mod notes;
mod resumed_job;

pub use note::JobNote;
pub(crate) use note_writer::NoteWriter;
pub use notes::JobNotes;
pub(crate) use resumed_job::ResumedJob;
