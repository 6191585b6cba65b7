//! Prints the merged configuration, with the origin of each value.
//!
//! The merged tree keeps the spans of its parts, from which [`to_yaml`] and [`origin_records`]
//! derive the origins. Any YAML reader reads the printed text back to the same values, whichever
//! words it accepts as booleans.

mod origin;
mod scalar;
mod text;

pub use origin::{OriginRecord, origin_records};
pub use text::{Comments, to_yaml};
