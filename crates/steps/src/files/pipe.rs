//! Connects async streams of messages with blocking readers and writers.

use std::io::{self, Read, Write};
use tokio::sync::mpsc::{Receiver, Sender};

/// The largest piece of an archive in a message.
pub(super) const PIECE: usize = 64 * 1024;

/// The number of pieces that are buffered between the two sides.
pub(super) const DEPTH: usize = 4;

/// A piece of an archive. Without `Last` at the end, the archive was truncated.
#[derive(Debug)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    Last,
}

/// Reads an archive from pieces.
#[derive(Debug)]
pub(super) struct PieceReader {
    pieces: Receiver<Piece>,
    piece: Vec<u8>,
    taken: usize,
    ended: bool,
}

impl PieceReader {
    pub(super) fn new(pieces: Receiver<Piece>) -> Self {
        Self {
            pieces,
            piece: Vec::new(),
            taken: 0,
            ended: false,
        }
    }
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.piece.len() && !self.ended {
            match self.pieces.blocking_recv() {
                Some(Piece::Bytes(bytes)) => {
                    self.piece = bytes;
                    self.taken = 0;
                }
                Some(Piece::Last) => self.ended = true,
                None => {
                    let error = io::ErrorKind::UnexpectedEof;
                    return Err(io::Error::new(error, "it was truncated"));
                }
            }
        }
        let mut rest = &self.piece[self.taken..];
        let read = rest.read(buffer)?;
        self.taken += read;
        Ok(read)
    }
}

/// Writes an archive in pieces.
#[derive(Debug)]
pub(super) struct PieceWriter<T> {
    pieces: Sender<T>,
    piece: Vec<u8>,
    wrap: fn(Vec<u8>) -> T,
}

impl<T> PieceWriter<T> {
    pub(super) fn new(pieces: Sender<T>, wrap: fn(Vec<u8>) -> T) -> Self {
        Self {
            pieces,
            piece: Vec::with_capacity(PIECE),
            wrap,
        }
    }
}

impl<T> Write for PieceWriter<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == PIECE {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.pieces
            .blocking_send((self.wrap)(piece))
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
