//! Zip archives.

mod coder;
mod directory;
mod pieces;
mod record;
mod section;
mod unpack;
mod writer;

pub(crate) use unpack::unpack;
pub(crate) use writer::write;
