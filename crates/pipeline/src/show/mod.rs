//! The configuration as it is after everything was put together, and where each value was written.
//!
//! The merged tree keeps the spans of its parts, so nothing is noted on the way: [`to_yaml`] and
//! [`origin_records`] read from it where a value came from. What is printed can be read back
//! by any YAML reader and gives the same values, whichever words it takes for booleans.

mod origin;
mod scalar;
mod text;

pub use origin::{OriginRecord, origin_records};
pub use text::{Comments, to_yaml};
