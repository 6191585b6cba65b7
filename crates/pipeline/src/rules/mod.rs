//! Rules, and the older `only` and `except`: what they say, and whether they hold.

mod policy;
mod rule;

pub use policy::{Policy, RefPattern};
pub use rule::{AutoCancel, Changes, Exists, OnJobFailure, OnNewCommit, Rule};
