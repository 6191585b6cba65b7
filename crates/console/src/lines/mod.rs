//! The view of a run as lines: a job's log as it comes, in blocks, or above a live region.

mod console;
mod fold;
mod job_log;
mod json;
mod live;
mod printer;
mod spill;
mod writer;

pub use console::Console;
pub use json::JsonLines;
pub use writer::SharedWriter;
