//! The views of a run, fed with events.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod console;
