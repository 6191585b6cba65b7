//! YAML as GitLab loads it: YAML 1.1 scalars, shared anchors, merge keys in document order, and a
//! place for every node.
//!
//! Anchored nodes are shared, never copied, so a file that names one anchor ten thousand times
//! stays small; [`Limits`] refuses what would explode when somebody walked it.

mod decode;
mod document;
mod findings;
mod integer;
mod key;
mod limits;
mod loader;
mod mapping;
mod names;
mod node;
mod open;
mod place;
mod scalar;
mod syntax;
mod tag;
#[cfg(test)]
mod tests;
mod values;

pub use decode::{DecodeError, decode};
pub use document::LoadedFile;
pub(crate) use document::load;
pub use integer::Integer;
pub use limits::Limits;
pub use mapping::Mapping;
pub use node::{Entry, Kind, Node};
pub(crate) use scalar::reads_as_text;
pub use values::load_values;
