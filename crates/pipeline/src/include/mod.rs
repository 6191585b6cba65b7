//! Pipeline files that are made of several: `include`.

mod source;

pub use source::{
    FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludeSource, IncludedFile,
    NoIncludes,
};
