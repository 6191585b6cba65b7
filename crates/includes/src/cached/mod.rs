//! What was asked before is not asked again, or not yet.

mod flights;
mod freshness;
mod library;
mod memory;
mod silent;

pub use library::Cached;
