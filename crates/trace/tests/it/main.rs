//! Tests of the public interface.

mod masking;
mod pipeline;
mod resume;
mod spool;
mod stamps;
