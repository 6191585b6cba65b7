use crate::error::ArchiveError;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// A range of a file, read without the file's own position, so that several threads can share it.
#[derive(Debug)]
pub(super) struct Section<'a> {
    file: &'a File,
    start: u64,
    end: u64,
}

impl<'a> Section<'a> {
    pub(super) fn new(file: &'a File, start: u64, end: u64) -> Self {
        Self { file, start, end }
    }
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let read = self.file.read_at(&mut buffer[..most], self.start)?;
        self.start += read as u64;
        Ok(read)
    }
}

/// Reads consecutive fields of a zip record.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], ArchiveError> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ArchiveError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or_else(short)?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, ArchiveError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, ArchiveError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, ArchiveError> {
        self.array().map(u64::from_le_bytes)
    }
}

fn short() -> ArchiveError {
    ArchiveError::damaged("it ends too early")
}
