//! The log of a job between its events and a view: whole lines, stages and section marks.

mod entry;
mod line_joiner;
mod section_marks;

pub(crate) use entry::{Entry, Source};
pub(crate) use line_joiner::{LineJoiner, Piece};
pub(crate) use section_marks::{Part, may_have_marks, parts};
