use crate::format::Method;
use flate2::{Compress, Compression, FlushCompress, Status};
use std::io;

/// Method numbers of the zip format.
pub(super) const STORED: u16 = 0;
pub(super) const DEFLATED: u16 = 8;
pub(super) const ZSTD: u16 = 93;

/// Compresses members in pieces, which form one stream when joined.
pub(super) enum Coder {
    Store,
    Deflate(Box<Compress>),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl Coder {
    pub(super) fn new(method: Method) -> io::Result<Self> {
        Ok(match method {
            Method::Store => Self::Store,
            Method::Deflate(level) => {
                Self::Deflate(Box::new(Compress::new(Compression::new(level), false)))
            }
            Method::Zstd(level) => Self::Zstd(zstd::bulk::Compressor::new(level)?),
        })
    }

    /// Returns the zip number of a method.
    pub(super) fn number(method: Method) -> u16 {
        match method {
            Method::Store => STORED,
            Method::Deflate(_) => DEFLATED,
            Method::Zstd(_) => ZSTD,
        }
    }

    /// Compresses one piece, or returns `None` if it is to be stored uncompressed.
    pub(super) fn encode(&mut self, piece: &[u8], is_last: bool) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Store => Ok(None),
            Self::Deflate(compress) => deflate(compress, piece, is_last).map(Some),
            // Consecutive frames are one stream.
            Self::Zstd(compressor) => compressor.compress(piece).map(Some),
        }
    }
}

/// Compresses a piece independently of earlier ones, ending at a byte boundary.
fn deflate(compress: &mut Compress, piece: &[u8], is_last: bool) -> io::Result<Vec<u8>> {
    compress.reset();
    let mut output = Vec::with_capacity(piece.len() / 2 + 128);
    let flush = if is_last {
        FlushCompress::Finish
    } else {
        FlushCompress::Sync
    };
    loop {
        let done = usize::try_from(compress.total_in()).map_err(io::Error::other)?;
        let status = compress
            .compress_vec(&piece[done..], &mut output, flush)
            .map_err(io::Error::other)?;
        let is_all_in = compress.total_in() == piece.len() as u64;
        let has_room = output.len() < output.capacity();
        if status == Status::StreamEnd || (!is_last && is_all_in && has_room) {
            return Ok(output);
        }
        output.reserve(piece.len() / 4 + 1024);
    }
}
