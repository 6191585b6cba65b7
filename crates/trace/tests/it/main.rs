//! Tests of the public interface.

mod controls;
mod masking;
mod pipeline;
mod resume;
mod spool;
mod stamps;
