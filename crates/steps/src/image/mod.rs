//! Images of functions, as archives: an OCI image layout in a tar file.
//!
//! The same files make the same bytes: names are sorted, and nothing in it says when, where or by whom it was made.

mod archive;
mod contents;
mod description;
mod error;
mod layer;

pub(crate) use archive::build;
pub(crate) use description::Image;
