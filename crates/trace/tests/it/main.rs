//! The crate from outside.

mod going_on;
mod masking;
mod pipeline;
mod spool;
mod stamps;
