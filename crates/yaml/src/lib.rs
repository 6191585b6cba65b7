//! YAML as GitLab loads it: YAML 1.1 scalars, shared anchors, merge keys in document order, and a
//! source location for every node.
//!
//! [`load`] reads a text into a [`LoadedFile`] of [`Node`]s; [`decode`] turns bytes into text.
//! Files and locations are in [`source`], errors and warnings in [`diagnostic`], which everything
//! that reads a pipeline reports with.
//!
//! Anchored nodes are shared, not copied, so a file that refers to one anchor ten thousand times
//! stays small. [`Limits`] refuses files whose nodes would be too many to visit.

mod decode;
pub mod diagnostic;
mod document;
mod key;
mod limits;
mod loader;
mod mapping;
mod node;
mod open_collection;
mod positions;
mod scalar;
pub mod source;
pub mod suggest;
mod syntax;
mod tag;
#[cfg(test)]
mod tests;
mod values;

pub use decode::{DecodeError, decode};
pub use document::{LoadedFile, load};
pub use limits::Limits;
pub use mapping::Mapping;
pub use node::{Entry, Integer, Kind, Node};
pub use scalar::reads_as_text;
pub use values::{load_values, values_or_null};
