//! What the crate promises, tested from outside.
