//! A stream that takes text at once and shows it as fast as its reader reads.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// How much waits in memory for a slow reader; the rest waits on disk.
const IN_MEMORY: usize = 4 << 20;

/// How much is read back from disk at a time.
const PIECE: usize = 64 << 10;

/// A stream whose writers never wait for its reader.
///
/// A thread of its own writes. What a slow reader leaves behind waits in memory, and beyond a few
/// MiB in a file without a name, so jobs, timeouts and signals go on whatever the reader does. When
/// it cannot be written any more, the rest is dropped, and [`finish`](Self::finish) says why.
/// Clones share one stream.
#[derive(Clone)]
pub struct SharedWriter(Arc<Shared>);

struct Shared {
    backlog: Mutex<Backlog>,
    changed: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Why text was lost.
    error: Mutex<Option<io::Error>>,
}

/// What was taken and is not shown yet: first what is in memory, then what is on disk.
#[derive(Default)]
struct Backlog {
    memory: VecDeque<u8>,
    disk: Option<Disk>,
    /// No more will come.
    closed: bool,
    /// Nobody reads any more.
    broken: bool,
}

struct Disk {
    file: File,
    read: u64,
    written: u64,
}

impl SharedWriter {
    /// Returns a stream that ends in `writer`.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    pub fn new(writer: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            backlog: Mutex::default(),
            changed: Condvar::new(),
            thread: Mutex::default(),
            error: Mutex::default(),
        });
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || theirs.show(writer))?;
        *lock(&shared.thread) = Some(thread);
        Ok(Self(shared))
    }

    /// Takes a piece of text, to be shown behind all that was taken before.
    pub fn write(&self, text: &[u8]) {
        let mut backlog = lock(&self.0.backlog);
        if let Err(error) = backlog.push(text) {
            self.0.lost(error);
        }
        self.0.changed.notify_all();
    }

    /// Ends the stream and waits until all is shown, or nobody reads any more.
    ///
    /// # Errors
    ///
    /// When text was lost, but not because the reader went away: that one has seen enough.
    pub fn finish(&self) -> io::Result<()> {
        lock(&self.0.backlog).closed = true;
        self.0.changed.notify_all();
        if let Some(thread) = lock(&self.0.thread).take() {
            // A panic of the thread was printed by itself; nothing is left to be shown.
            let _ = thread.join();
        }
        match lock(&self.0.error).take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

impl Shared {
    /// Shows what is taken until the stream ends.
    fn show(&self, mut writer: impl Write) {
        while let Some(piece) = self.next() {
            if let Err(error) = writer.write_all(&piece).and_then(|()| writer.flush()) {
                self.lost(error);
                *lock(&self.backlog) = Backlog {
                    broken: true,
                    ..Backlog::default()
                };
                return;
            }
        }
    }

    /// Remembers the first reason why text was lost.
    fn lost(&self, error: io::Error) {
        lock(&self.error).get_or_insert(error);
    }

    /// Waits for the next piece; `None` at the end of the stream.
    fn next(&self) -> Option<Vec<u8>> {
        let mut backlog = lock(&self.backlog);
        loop {
            match backlog.take() {
                Ok(Some(piece)) => return Some(piece),
                Ok(None) => {}
                Err(error) => self.lost(error),
            }
            if backlog.closed {
                return None;
            }
            backlog = self
                .changed
                .wait(backlog)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Backlog {
    fn push(&mut self, text: &[u8]) -> io::Result<()> {
        if self.broken {
            return Ok(());
        }
        if self.disk.is_none() && self.memory.len() + text.len() <= IN_MEMORY {
            self.memory.extend(text);
            return Ok(());
        }
        let disk = match &mut self.disk {
            Some(disk) => disk,
            disk @ None => disk.insert(Disk {
                file: tempfile::tempfile()?,
                read: 0,
                written: 0,
            }),
        };
        disk.file.write_all_at(text, disk.written)?;
        disk.written += text.len() as u64;
        Ok(())
    }

    fn take(&mut self) -> io::Result<Option<Vec<u8>>> {
        if !self.memory.is_empty() {
            return Ok(Some(std::mem::take(&mut self.memory).into()));
        }
        let Some(disk) = &mut self.disk else {
            return Ok(None);
        };
        let left = usize::try_from(disk.written - disk.read).unwrap_or(usize::MAX);
        let mut piece = vec![0; left.min(PIECE)];
        let read = disk.file.read_exact_at(&mut piece, disk.read);
        disk.read += piece.len() as u64;
        if disk.read == disk.written || read.is_err() {
            // The file has no name, so its space is free again.
            self.disk = None;
        }
        read.map(|()| Some(piece))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for SharedWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedWriter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A reader that takes nothing before it is told to.
    struct Gated {
        open: Receiver<()>,
        seen: Sender<Vec<u8>>,
    }

    impl Write for Gated {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // The gate stays open once its other side is gone.
            let _ = self.open.recv();
            self.seen
                .send(bytes.to_vec())
                .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_is_lost_or_moved_when_the_reader_is_slow() {
        let (open, gate) = channel();
        let (seen, shown) = channel();
        let writer = SharedWriter::new(Gated { open: gate, seen }).unwrap();
        let mut expected = Vec::new();
        for number in 0..20_000_u32 {
            let line = format!("{number} {}\n", "x".repeat(600));
            expected.extend_from_slice(line.as_bytes());
            writer.write(line.as_bytes());
        }
        assert!(expected.len() > 2 * IN_MEMORY, "the disk is needed");
        drop(open);
        writer.write(b"the end");
        writer.finish().unwrap();
        drop(writer);
        expected.extend_from_slice(b"the end");
        let shown: Vec<u8> = shown.into_iter().flatten().collect();
        assert!(
            shown == expected,
            "{} of {} bytes",
            shown.len(),
            expected.len()
        );
    }

    #[test]
    fn a_reader_that_went_away_stops_nobody() {
        let (open, gate) = channel();
        let (seen, shown) = channel();
        let writer = SharedWriter::new(Gated { open: gate, seen }).unwrap();
        drop((open, shown));
        for _ in 0..10_000 {
            writer.write(&[b'x'; 1000]);
        }
        writer.finish().unwrap();
        assert!(lock(&writer.0.backlog).broken);
    }

    #[test]
    fn lost_text_is_told_of_at_the_end() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let writer = SharedWriter::new(full).unwrap();
        writer.write(b"never to be seen");
        let error = writer.finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
