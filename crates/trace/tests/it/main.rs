//! The crate from outside.

mod masking;
mod pipeline;
mod spool;
mod stamps;
