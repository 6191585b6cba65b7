//! Images of functions, as archives: an OCI image layout in a tar file.
//!
//! Equal files make equal archives: entries are sorted, and have no times, owners or host names.

mod archive;
mod contents;
mod description;
mod error;
mod layer;

pub(crate) use archive::build;
pub(crate) use description::Image;
