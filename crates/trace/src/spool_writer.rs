//! Writes the spool, with a thread for fast output.

use parking_lot::{Condvar, Mutex};
use std::mem;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::spool::{Digest, Spool, SpoolError, SpoolReader};

/// The smallest piece that is worth waking a thread for.
const LARGE: usize = 32 * 1024;
/// The largest amount of queued text; writers wait above it.
const FULL: usize = 256 * 1024;

/// Writes a log into its [`Spool`], the large pieces on a thread of its own.
///
/// More than half of the time of fast output is spent in the kernel, which finds and clears memory for each page of the
/// file. A second thread does that while the caller masks and stamps the next piece.
///
/// The thread starts with the first large piece, so most jobs have none. The caller writes a small piece itself, unless
/// others are queued before it. The thread writes queued text as soon as possible; a kill of the process loses less than
/// 1 MiB of text that arrived during the last write.
///
/// The next call returns an error of the thread; queued text is then dropped, and nothing may be appended.
pub(crate) struct SpoolWriter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    spool: Mutex<Spool>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<u8>,
    /// The thread is writing.
    writing: bool,
    closed: bool,
    error: Option<SpoolError>,
}

impl SpoolWriter {
    pub(crate) fn new(spool: Spool) -> Self {
        let shared = Shared {
            spool: Mutex::new(spool),
            queue: Mutex::default(),
            changed: Condvar::new(),
        };
        Self {
            shared: Arc::new(shared),
            thread: None,
        }
    }

    /// Appends bytes, or queues them for the thread.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        let large = bytes.len() >= LARGE;
        if large && self.thread.is_none() {
            self.thread = self.shared.start();
        }
        if self.thread.is_none() {
            return self.shared.spool.lock().append(bytes);
        }
        let may_go_on = |queue: &Queue| queue.waiting.len() < FULL || queue.error.is_some();
        self.shared.when(may_go_on, |queue| {
            if let Some(error) = queue.error.take() {
                return Err(error);
            }
            if large || !queue.is_settled() {
                queue.waiting.extend_from_slice(bytes);
                return Ok(());
            }
            self.shared.spool.lock().append(bytes)
        })
    }

    /// Waits until all appended bytes are in the file.
    pub(crate) fn settle(&mut self) -> Result<(), SpoolError> {
        self.shared.when(Queue::is_settled, |queue| {
            queue.error.take().map_or(Ok(()), Err)
        })
    }

    /// Waits as `settle`, and ends the thread if there is one.
    pub(crate) fn close(&mut self) -> Result<(), SpoolError> {
        let settled = self.settle();
        if let Some(thread) = self.thread.take() {
            self.shared.when(|_| true, |queue| queue.closed = true);
            thread.join().expect("the thread does not panic");
        }
        settled
    }

    /// Returns length and checksum of the file.
    pub(crate) fn digest(&self) -> Digest {
        self.shared.spool.lock().digest()
    }

    /// Opens the file for reading.
    pub(crate) fn reader(&self) -> Result<SpoolReader, SpoolError> {
        self.shared.spool.lock().reader()
    }
}

impl Drop for SpoolWriter {
    fn drop(&mut self) {
        // An error can no longer be reported.
        let _ = self.close();
    }
}

impl Queue {
    fn is_settled(&self) -> bool {
        self.waiting.is_empty() && !self.writing
    }
}

impl Shared {
    /// Starts the thread. Without one the caller writes everything.
    fn start(self: &Arc<Self>) -> Option<JoinHandle<()>> {
        let shared = Arc::clone(self);
        let builder = thread::Builder::new().name("log spool".to_owned());
        self.queue.lock().closed = false;
        builder.spawn(move || shared.write_behind()).ok()
    }

    /// Writes queued text until the queue is closed.
    fn write_behind(&self) {
        let mut piece = Vec::new();
        loop {
            let may_go_on = |queue: &Queue| !queue.waiting.is_empty() || queue.closed;
            self.when(may_go_on, |queue| {
                mem::swap(&mut queue.waiting, &mut piece);
                queue.writing = !piece.is_empty();
            });
            if piece.is_empty() {
                return;
            }
            let written = self.spool.lock().append(&piece);
            piece.clear();
            self.when(
                |_| true,
                |queue| {
                    queue.writing = false;
                    if let Err(error) = written {
                        queue.error = Some(error);
                        queue.waiting.clear();
                    }
                },
            );
        }
    }

    /// Waits until the queue is `ready`, changes it, and notifies the other side.
    fn when<T>(&self, ready: impl Fn(&Queue) -> bool, change: impl FnOnce(&mut Queue) -> T) -> T {
        let mut queue = self.queue.lock();
        self.changed.wait_while(&mut queue, |queue| !ready(queue));
        let result = change(&mut queue);
        self.changed.notify_all();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static LARGE_PIECE: [u8; LARGE] = [b'x'; LARGE];

    #[test]
    fn small_and_large_pieces_keep_their_order() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("log");
        let spool = Spool::create(&path).expect("the spool can be made");
        let mut writer = SpoolWriter::new(spool);
        let mut expect = Vec::new();
        for round in 0..50_u8 {
            for length in [1, LARGE, 100, 3 * LARGE, 5] {
                let piece = vec![round; length];
                writer.append(&piece).expect("there is space");
                expect.extend_from_slice(&piece);
            }
        }
        writer.settle().expect("there is space");
        assert!(std::fs::read(&path).expect("the log is there") == expect);
        writer.append(b"end").expect("there is space");
        expect.extend_from_slice(b"end");
        writer.close().expect("there is space");
        assert!(std::fs::read(&path).expect("the log is there") == expect);
        assert_eq!(writer.digest().crc32, crc32fast::hash(&expect));
        assert_eq!(writer.digest().bytes, expect.len() as u64);
    }

    #[test]
    fn slow_file_makes_the_caller_wait() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let spool = Spool::create(folder.path().join("log")).expect("the spool can be made");
        let mut writer = SpoolWriter::new(spool);
        let shared = Arc::clone(&writer.shared);
        let slow = shared.spool.lock();
        let pieces = 10 * FULL / LARGE;
        let most = thread::scope(|scope| {
            let most = scope.spawn(move || {
                let lengths = (0..pieces).map(|_| {
                    writer.append(&LARGE_PIECE).expect("there is space");
                    writer.shared.queue.lock().waiting.len()
                });
                lengths.max()
            });
            shared.when(|queue| queue.waiting.len() >= FULL, |_| ());
            drop(slow);
            most.join().expect("the writer does not panic")
        });
        assert!(most < Some(FULL + LARGE), "{most:?}");
        assert_eq!(shared.spool.lock().digest().bytes, (pieces * LARGE) as u64);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn error_of_the_thread_is_returned_once() {
        let mut writer = SpoolWriter::new(Spool::on_full_disk());
        writer.append(&LARGE_PIECE).expect("it only waits");
        let error = writer.settle().expect_err("the disk is full");
        assert!(matches!(error, SpoolError::Full { .. }), "{error:?}");
        writer.close().expect("the error is known");
        assert_eq!(writer.digest(), Digest::default());
    }
}
