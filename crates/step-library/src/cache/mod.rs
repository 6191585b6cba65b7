//! The cache of fetched functions, in directories that several programs share.

mod clean;
mod function_cache;
mod lease;
mod lock;
mod shelf;
mod staging;

pub(crate) use clean::clean;
pub use clean::{Cleaned, Unused};
pub use function_cache::{CachedFunctions, FunctionCache};
pub(crate) use lease::{Hold, Lease};
pub(crate) use shelf::{Claim, Shelf};
pub(crate) use staging::Staging;
pub(crate) use staging::remove;
