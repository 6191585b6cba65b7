//! A queue of bytes: the newest in memory, older ones on disk.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// How much is read back from disk at a time.
const PIECE: usize = 64 << 10;

/// A queue of bytes that holds no more than a fixed amount of them in memory.
///
/// The rest goes to an unnamed file, whose space is free again when this is dropped or the program ends,
/// however it ends.
pub(super) struct Spill {
    limit: usize,
    memory: Vec<u8>,
    /// Older than the bytes in memory.
    disk: Option<Disk>,
}

struct Disk {
    file: File,
    read: u64,
    written: u64,
}

impl Spill {
    /// Returns an empty queue that keeps about `limit` bytes in memory.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            memory: Vec::new(),
            disk: None,
        }
    }

    /// Appends bytes.
    ///
    /// # Errors
    ///
    /// When older bytes cannot be brought to disk. They are dropped.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.append(|memory| memory.extend_from_slice(bytes))
    }

    /// Lets `write` append bytes, as [`push`](Self::push) does.
    pub(super) fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        write(&mut self.memory);
        if self.memory.len() <= self.limit {
            return Ok(());
        }
        let moved = self.move_to_disk();
        self.memory.clear();
        moved
    }

    fn move_to_disk(&mut self) -> io::Result<()> {
        let disk = match &mut self.disk {
            Some(disk) => disk,
            disk @ None => disk.insert(Disk {
                file: tempfile::tempfile()?,
                read: 0,
                written: 0,
            }),
        };
        disk.file.write_all_at(&self.memory, disk.written)?;
        disk.written += self.memory.len() as u64;
        Ok(())
    }

    /// Replaces the content of `piece` by the oldest bytes, some or all of them, and reuses its
    /// memory. It is empty afterwards when there are none.
    ///
    /// # Errors
    ///
    /// When they cannot be read back. What was on disk is dropped.
    pub(super) fn take(&mut self, piece: &mut Vec<u8>) -> io::Result<()> {
        piece.clear();
        let Some(disk) = &mut self.disk else {
            std::mem::swap(&mut self.memory, piece);
            return Ok(());
        };
        let left = usize::try_from(disk.written - disk.read).unwrap_or(usize::MAX);
        piece.resize(left.min(PIECE), 0);
        let read = disk.file.read_exact_at(piece, disk.read);
        disk.read += piece.len() as u64;
        if disk.read == disk.written || read.is_err() {
            self.disk = None;
        }
        if read.is_err() {
            piece.clear();
        }
        read
    }

    /// Returns how many bytes wait.
    pub(super) fn len(&self) -> u64 {
        let on_disk = self
            .disk
            .as_ref()
            .map_or(0, |disk| disk.written - disk.read);
        on_disk + self.memory.len() as u64
    }
}

impl fmt::Debug for Spill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spill")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_in_order_and_memory_stays_small() {
        let mut spill = Spill::new(1000);
        let mut expected = Vec::new();
        for number in 0..50_000_u32 {
            let line = format!("{number}\n");
            expected.extend_from_slice(line.as_bytes());
            spill.push(line.as_bytes()).unwrap();
            assert!(spill.memory.len() <= 1000);
        }
        assert_eq!(spill.len(), expected.len() as u64);
        let mut found = Vec::new();
        let mut piece = Vec::new();
        loop {
            spill.take(&mut piece).unwrap();
            if piece.is_empty() {
                break;
            }
            assert!(piece.len() <= PIECE);
            found.extend_from_slice(&piece);
            if found.len() == PIECE {
                spill.push(b"later").unwrap();
            }
        }
        expected.extend_from_slice(b"later");
        assert!(found == expected);
        assert_eq!(spill.len(), 0);
    }
}
