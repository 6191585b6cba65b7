//! Pipeline files that are made of several: `include`.

mod known;
mod source;

pub use known::{FilesByPath, KnownFiles};
pub use source::{
    FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludeSource, IncludedFile,
    NoIncludes,
};
