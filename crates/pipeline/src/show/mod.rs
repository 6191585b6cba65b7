//! The configuration as it is after everything was put together, and where each value was written.
//!
//! The merged tree keeps the spans of its parts, so nothing is noted on the way: [`to_yaml`] and
//! [`origins`] read where a value came from off the tree itself. What is printed can be read back
//! by any YAML reader and gives the same values, whichever words it takes for booleans.

mod origin;
mod scalar;
mod yaml;

pub use origin::{Origin, OriginFinder, origins};
pub use yaml::{Comments, to_yaml};
