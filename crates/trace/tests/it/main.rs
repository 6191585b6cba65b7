//! The crate from outside.

mod masking;
