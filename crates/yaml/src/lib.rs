//! YAML as GitLab loads it: YAML 1.1 scalars, shared anchors, merge keys in document order, and a
//! source location for every node.
//!
//! [`LoadedFile`] is one text, [`load`] reads its [`Node`]s, and [`decode`] turns a node into a type
//! of serde. Files and locations in them are in [`source`], errors and warnings in [`diagnostic`]:
//! whatever reads a pipeline reports with these.
//!
//! Anchored nodes are shared, never copied, so a file that names one anchor ten thousand times
//! stays small. [`Limits`] refuses files that would explode when their nodes are visited.

mod decode;
pub mod diagnostic;
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
pub mod source;
pub mod suggest;
mod syntax;
mod tag;
#[cfg(test)]
mod tests;
mod values;

pub use decode::{DecodeError, decode};
pub use document::LoadedFile;
pub use document::load;
pub use integer::Integer;
pub use limits::Limits;
pub use mapping::Mapping;
pub use node::{Entry, Kind, Node};
pub use scalar::reads_as_text;
pub use values::load_values;
