//! The crate from outside.

mod masking;
mod pipeline;
mod resume;
mod spool;
mod stamps;
