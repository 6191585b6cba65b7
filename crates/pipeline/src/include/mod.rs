//! Pipeline files that are made of several: `include`.
//!
//! Finding texts is left to an [`IncludeSource`]; everything else is the same for all kinds of
//! includes and happens here: what an entry says, whether its rules let it in, which files
//! it means, limits, and how the files are merged. Each file is asked for and parsed once,
//! however often it is included.

mod check;
mod condition;
mod entry;
mod includer;
mod known;
mod locate;
mod read;
mod refusal;
mod shelf;
mod source;
mod text;
mod tree;
mod wildcard;

pub(crate) use wildcard::Wildcard;

pub use known::{FilesByPath, KnownFiles};
pub(crate) use read::{Tree, read, read_child};
pub use source::{
    FileHome, IncludeError, IncludeFailure, IncludeLocation, IncludeRequest, IncludeSource,
    IncludedFile, NoIncludes,
};
