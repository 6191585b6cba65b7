//! What was fetched, kept in directories that several programs share.

mod clean;
mod function_cache;
mod hold;
mod lease;
mod lock;
mod shelf;
mod staging;

pub(crate) use clean::clean;
pub use clean::{Cleaned, Unused};
pub use function_cache::{CachedFunctions, FunctionCache};
pub(crate) use hold::Hold;
pub(crate) use lease::Lease;
pub(crate) use shelf::{Shelf, Turn};
pub(crate) use staging::Staging;
pub(crate) use staging::remove;
