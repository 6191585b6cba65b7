//! Reads pipeline files that include others (`include`).
//!
//! An [`IncludeSource`] finds the texts; everything else is the same for all kinds of includes and
//! happens here: reading entries, evaluating their rules, finding their files, limits, and merging.
//! Each file is fetched and parsed once, however often it is included.

mod check;
mod condition;
mod entry;
mod file_cache;

mod includer;
mod known;
mod loader;
mod locate;
mod read;
mod refusal;
mod source;
mod text;
mod tree;
mod wildcard;

pub(crate) use wildcard::Wildcard;

pub use known::{FilesByPath, KnownFiles};
pub(crate) use read::{read, read_child};
pub use source::{
    FileHome, IncludeError, IncludeFailure, IncludeLocation, IncludeRequest, IncludeSource,
    IncludedFile, NoIncludes,
};
pub(crate) use tree::Tree;
