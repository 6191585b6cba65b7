//! Tar archives, compressed with zstd.

mod header;
mod unpack;
mod writer;

pub(crate) use unpack::{unpack, unpack_plain};
pub(crate) use writer::write;
