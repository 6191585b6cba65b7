//! A stream that takes text at once and shows it as fast as its reader reads.

use super::spill::Spill;
use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How much waits in memory for a slow reader; the rest waits on disk.
const IN_MEMORY: usize = 4 << 20;

/// Text of this size does not wait for the next frame.
const BATCH: u64 = 64 << 10;

/// The shortest time between two frames: ten a second are fluent and cost nothing.
const FRAME: Duration = Duration::from_millis(100);

/// The same without anything below the text: too short to be seen, and long enough for the lines of
/// a flood to come together.
const MOMENT: Duration = Duration::from_millis(5);

/// How often times are brought up to date when nothing else happens.
const TICK: Duration = Duration::from_secs(1);

/// The lines below the text of a stream.
pub(super) trait Footer: Send {
    /// Appends to `out` what shows `text`, which is empty or whole lines, and below it the footer as
    /// it is now.
    fn frame(&mut self, text: &[u8], out: &mut Vec<u8>);

    /// Appends to `out` what shows `text`, which need not be whole lines, and no footer.
    fn last_frame(&mut self, text: &[u8], out: &mut Vec<u8>);

    /// Forgets the drawn lines, which are no longer on the screen.
    fn forget(&mut self);
}

/// A stream whose writers never wait for its reader.
///
/// A thread of its own writes. Text that a slow reader has not taken waits in memory, and beyond a few MiB
/// in an unnamed file, so that jobs, timeouts and signals do not depend on the reader. When writing fails,
/// the rest is dropped, and [`finish`](Self::finish) returns the reason.
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

/// The text that is not shown yet.
struct Backlog {
    text: Spill,
    stream: Stream,
    footer: Change,
    hold: Hold,
    /// The thread sleeps until there are so many bytes of text.
    sleeps_until: Option<u64>,
}

/// How long a request for the terminal waits for a slow reader.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether more is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Open,
    /// No more will come.
    Closed,
    /// The reader is gone.
    Broken,
}

/// Whether another user of the terminal has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    No,
    /// It was requested at this time.
    Requested(Instant),
    /// It was granted.
    Granted,
}

/// What has happened to the footer since it was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    None,
    /// Its content changed.
    Text,
    /// It is no longer on the screen.
    Lost,
}

/// When there is something to show.
struct Pace {
    /// When something was shown last.
    last: Instant,
    /// The shortest time between two frames.
    frame: Duration,
    /// The longest, whether there is text or not.
    tick: Option<Duration>,
}

/// What the thread is to show next.
enum Next {
    Text {
        is_footer_lost: bool,
    },
    /// Nothing, and the footer has to be wiped.
    Wipe,
    End,
}

impl SharedWriter {
    /// Returns a stream that ends in `writer`.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    pub fn new(writer: impl Write + Send + 'static) -> io::Result<Self> {
        Self::start(writer, None)
    }

    /// Returns a stream that ends in `writer`, with something below its text.
    pub(super) fn with_footer(
        writer: impl Write + Send + 'static,
        footer: Box<dyn Footer>,
    ) -> io::Result<Self> {
        Self::start(writer, Some(footer))
    }

    fn start(
        writer: impl Write + Send + 'static,
        footer: Option<Box<dyn Footer>>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            backlog: Mutex::new(Backlog {
                text: Spill::new(IN_MEMORY),
                stream: Stream::Open,
                footer: Change::None,
                hold: Hold::No,
                sleeps_until: None,
            }),
            changed: Condvar::new(),
            thread: Mutex::default(),
            error: Mutex::default(),
        });
        let theirs = Arc::clone(&shared);
        let thread =
            thread::Builder::new()
                .name("output".to_owned())
                .spawn(move || match footer {
                    Some(footer) => theirs.show_above(writer, footer),
                    None => theirs.show(writer),
                })?;
        *shared.thread.lock() = Some(thread);
        Ok(Self(shared))
    }

    /// Takes a piece of text, to be shown behind all that was taken before.
    pub fn write(&self, text: &[u8]) {
        let mut backlog = self.0.backlog.lock();
        if backlog.stream == Stream::Broken || text.is_empty() {
            return;
        }
        if let Err(error) = backlog.text.push(text) {
            self.0.lost(error);
        }
        // Most lines of a flood wake no thread: a wake costs more than a line.
        let waiting = backlog.text.len();
        if backlog
            .sleeps_until
            .take_if(|enough| waiting >= *enough)
            .is_some()
        {
            self.0.changed.notify_one();
        }
    }

    /// Reports that the content of the footer changed.
    pub(super) fn footer_changed(&self) {
        self.change_footer(Change::Text);
    }

    /// Reports that the drawn footer is no longer on the screen.
    pub(super) fn footer_lost(&self) {
        self.change_footer(Change::Lost);
    }

    fn change_footer(&self, change: Change) {
        let mut backlog = self.0.backlog.lock();
        backlog.footer = backlog.footer.max(change);
        // A thread that sleeps until its next frame looks by itself then.
        if backlog
            .sleeps_until
            .take_if(|enough| *enough <= 1)
            .is_some()
        {
            self.0.changed.notify_one();
        }
    }

    /// Shows nothing until the guard is dropped; text that comes meanwhile waits. Returns when the footer is
    /// wiped, or when the reader takes too long for that. Blocks.
    pub(super) fn hold(&self) -> Held {
        let mut backlog = self.0.backlog.lock();
        backlog.hold = Hold::Requested(Instant::now());
        self.0.changed.notify_all();
        let is_wanted = |backlog: &mut Backlog| {
            matches!(backlog.hold, Hold::Requested(_)) && backlog.stream == Stream::Open
        };
        self.0
            .changed
            .wait_while_for(&mut backlog, is_wanted, PATIENCE);
        backlog.hold = Hold::Granted;
        Held(self.clone())
    }

    /// Ends the stream and waits until everything is shown, or the reader is gone.
    ///
    /// # Errors
    ///
    /// When text was lost for another reason than that the reader went away.
    pub fn finish(&self) -> io::Result<()> {
        self.0.close(Stream::Closed);
        self.0.changed.notify_one();
        if let Some(thread) = self.0.thread.lock().take() {
            // A panic of the thread was printed by itself; nothing is left to be shown.
            let _ = thread.join();
        }
        match self.0.error.lock().take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

/// Keeps a stream from showing anything.
#[derive(Debug)]
pub struct Held(SharedWriter);

impl Drop for Held {
    fn drop(&mut self) {
        let shared = &self.0.0;
        let mut backlog = shared.backlog.lock();
        backlog.hold = Hold::No;
        backlog.footer = Change::Lost;
        shared.changed.notify_all();
    }
}

impl Pace {
    fn new(frame: Duration, tick: Option<Duration>) -> Self {
        Self {
            last: Instant::now(),
            frame,
            tick,
        }
    }
}

impl Shared {
    fn close(&self, how: Stream) {
        let mut backlog = self.backlog.lock();
        if backlog.stream == Stream::Open {
            backlog.stream = how;
        }
    }

    /// Shows the text of the stream until it ends.
    fn show(&self, mut writer: impl Write) {
        let mut text = Vec::new();
        let mut pace = Pace::new(MOMENT, None);
        loop {
            match self.next(&pace, &mut text) {
                Next::End => return,
                Next::Wipe => {
                    self.grant();
                    continue;
                }
                Next::Text { .. } => {}
            }
            if !self.put(&mut writer, &text) {
                return;
            }
            pace.last = Instant::now();
        }
    }

    /// Shows the text of the stream above a footer until it ends.
    fn show_above(&self, mut writer: impl Write, mut footer: Box<dyn Footer>) {
        let mut out = Vec::new();
        // The beginning of a line whose end is still on disk.
        let mut rest: Vec<u8> = Vec::new();
        let mut text = Vec::new();
        let mut pace = Pace::new(FRAME, Some(TICK));
        loop {
            let is_footer_lost = match self.next(&pace, &mut text) {
                Next::End => break,
                Next::Wipe => {
                    out.clear();
                    footer.last_frame(b"", &mut out);
                    footer.forget();
                    if !self.put(&mut writer, &out) {
                        return;
                    }
                    self.grant();
                    continue;
                }
                Next::Text { is_footer_lost } => is_footer_lost,
            };
            if is_footer_lost {
                footer.forget();
            }
            rest.extend_from_slice(&text);
            let end = memchr::memrchr(b'\n', &rest).map_or(0, |at| at + 1);
            out.clear();
            footer.frame(&rest[..end], &mut out);
            rest.drain(..end);
            if !out.is_empty() && !self.put(&mut writer, &out) {
                return;
            }
            pace.last = Instant::now();
        }
        out.clear();
        footer.last_frame(&rest, &mut out);
        self.put(&mut writer, &out);
    }

    /// Grants a request for the terminal.
    fn grant(&self) {
        let mut backlog = self.backlog.lock();
        if matches!(backlog.hold, Hold::Requested(_)) {
            backlog.hold = Hold::Granted;
            self.changed.notify_all();
        }
    }

    /// Writes, and returns whether there still is a reader.
    fn put(&self, writer: &mut impl Write, bytes: &[u8]) -> bool {
        let written = writer.write_all(bytes).and_then(|()| writer.flush());
        if let Err(error) = written {
            self.lost(error);
            let mut backlog = self.backlog.lock();
            backlog.stream = Stream::Broken;
            backlog.text = Spill::new(0);
            return false;
        }
        true
    }

    /// Remembers the first reason why text was lost.
    fn lost(&self, error: io::Error) {
        self.error.lock().get_or_insert(error);
    }

    /// Waits for the next text and puts it into `text`.
    fn next(&self, pace: &Pace, text: &mut Vec<u8>) -> Next {
        let mut backlog = self.backlog.lock();
        loop {
            let passed = pace.last.elapsed();
            let due = pace.frame.saturating_sub(passed);
            let tick = pace.tick.map(|tick| tick.saturating_sub(passed));
            let waiting = backlog.text.len();
            let is_closed = backlog.stream != Stream::Open;
            match backlog.hold {
                _ if is_closed => {}
                Hold::No => {}
                // What was taken before is shown first, unless that takes long.
                Hold::Requested(since) if waiting > 0 && since.elapsed() < PATIENCE / 2 => {
                    return self.text(&mut backlog, text);
                }
                Hold::Requested(_) => return Next::Wipe,
                Hold::Granted => {
                    self.changed.wait(&mut backlog);
                    continue;
                }
            }
            let is_time = due.is_zero() || waiting >= BATCH || is_closed;
            if waiting > 0 && is_time {
                return self.text(&mut backlog, text);
            }
            if is_closed {
                return Next::End;
            }
            let is_due = due.is_zero() && backlog.footer != Change::None;
            if is_due || tick.is_some_and(|tick| tick.is_zero()) {
                return self.text(&mut backlog, text);
            }
            let (enough, sleep) = if waiting > 0 || backlog.footer != Change::None {
                (BATCH, Some(due))
            } else {
                (1, tick)
            };
            backlog.sleeps_until = Some(enough);
            if let Some(time) = sleep {
                self.changed.wait_for(&mut backlog, time);
            } else {
                self.changed.wait(&mut backlog);
            }
            backlog.sleeps_until = None;
        }
    }

    /// Takes what waits.
    fn text(&self, backlog: &mut Backlog, text: &mut Vec<u8>) -> Next {
        if let Err(error) = backlog.text.take(text) {
            self.lost(error);
        }
        let change = std::mem::replace(&mut backlog.footer, Change::None);
        Next::Text {
            is_footer_lost: change == Change::Lost,
        }
    }
}

impl fmt::Debug for SharedWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedWriter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A reader that takes nothing before its gate opens.
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
    fn a_slow_reader_gets_everything_in_order() {
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
    fn writers_continue_when_the_reader_is_gone() {
        let (open, gate) = channel();
        let (seen, shown) = channel();
        let writer = SharedWriter::new(Gated { open: gate, seen }).unwrap();
        drop((open, shown));
        for _ in 0..10_000 {
            writer.write(&[b'x'; 1000]);
        }
        writer.finish().unwrap();
        assert_eq!(writer.0.backlog.lock().stream, Stream::Broken);
    }

    #[test]
    fn lost_text_is_reported_at_the_end() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let writer = SharedWriter::new(full).unwrap();
        writer.write(b"never to be seen");
        let error = writer.finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
