use super::coder::{Coder, STORED};
use crate::error::{ArchiveError, go_on};
use crate::format::Method;
use crate::members::{Member, Members, Source};
use crc32fast::Hasher;
use executor_core::Cancellation;
use parking_lot::{Condvar, Mutex};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

/// Size in bytes of the pieces that files are compressed in.
pub(super) const PIECE: u64 = 1 << 20;

/// A piece of a member, ready to be written.
pub(super) struct Piece {
    /// The member, if this is its first piece.
    pub(super) begins: Option<Begin>,
    pub(super) bytes: Vec<u8>,
    /// Size before compression.
    pub(super) size: u64,
    pub(super) crc: Hasher,
    pub(super) method: u16,
    pub(super) is_last: bool,
}

/// The attributes of a member that are known before it is read.
pub(super) struct Begin {
    pub(super) path: PathBuf,
    pub(super) permissions: u32,
    pub(super) modified: i64,
    pub(super) kind: Kind,
    /// Size of the file when it was opened.
    pub(super) expected: u64,
}

/// The kind of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Link,
    Directory,
}

/// A piece to compress.
struct Task {
    number: u64,
    begins: Option<Begin>,
    source: Text,
    is_last: bool,
    /// Whether this is the only piece of its member.
    is_whole: bool,
}

enum Text {
    Part(Arc<File>, PathBuf, u64, u64),
    Bytes(Vec<u8>),
}

/// Hands out pieces in order.
pub(super) struct Feed {
    members: Members,
    /// The file that is handed out in pieces, its path, the offset of the next piece, and its size.
    current: Option<(Arc<File>, PathBuf, u64, u64)>,
    next: u64,
}

impl Feed {
    pub(super) fn new(members: Members) -> Self {
        Self {
            members,
            current: None,
            next: 0,
        }
    }

    pub(super) fn into_members(self) -> Members {
        self.members
    }

    fn next(&mut self) -> Result<Option<Task>, ArchiveError> {
        let mut begins = None;
        if self.current.is_none() {
            let Some(member) = self.members.next()? else {
                return Ok(None);
            };
            let (begin, source) = begin(member);
            match source {
                Source::File(file, size) => {
                    self.current = Some((Arc::new(file), begin.path.clone(), 0, size));
                    begins = Some(begin);
                }
                Source::Link(target) => return Ok(Some(self.whole(begin, target))),
                Source::Directory => return Ok(Some(self.whole(begin, Vec::new()))),
            }
        }
        let Some((file, path, start, size)) = self.current.take() else {
            return Ok(None);
        };
        let end = size.min(start + PIECE);
        let is_last = end == size;
        if !is_last {
            self.current = Some((Arc::clone(&file), path.clone(), end, size));
        }
        Ok(Some(Task {
            number: self.number(),
            begins,
            source: Text::Part(file, path, start, end - start),
            is_last,
            is_whole: start == 0 && is_last,
        }))
    }

    fn whole(&mut self, begin: Begin, bytes: Vec<u8>) -> Task {
        Task {
            number: self.number(),
            begins: Some(begin),
            source: Text::Bytes(bytes),
            is_last: true,
            is_whole: true,
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

fn begin(member: Member) -> (Begin, Source) {
    let (kind, expected) = match &member.source {
        Source::File(_, size) => (Kind::File, *size),
        Source::Link(_) => (Kind::Link, 0),
        Source::Directory => (Kind::Directory, 0),
    };
    let begin = Begin {
        path: member.path,
        permissions: member.permissions,
        modified: member.modified,
        kind,
        expected,
    };
    (begin, member.source)
}

/// Limits the pieces in memory: no thread compresses a piece `width` or more ahead of the writer.
pub(super) struct Window {
    state: Mutex<(u64, bool)>,
    moved: Condvar,
    width: u64,
}

impl Window {
    pub(super) fn new(width: u64) -> Self {
        Self {
            state: Mutex::new((0, false)),
            moved: Condvar::new(),
            width,
        }
    }

    /// Waits until the piece of this number may be compressed, or returns false once the window is closed.
    fn wait(&self, number: u64) -> bool {
        let mut state = self.state.lock();
        while !state.1 && number >= state.0 + self.width {
            self.moved.wait(&mut state);
        }
        !state.1
    }

    /// Reports the number of pieces written so far.
    pub(super) fn advance(&self, written: u64) {
        self.state.lock().0 = written;
        self.moved.notify_all();
    }

    /// Reports that no more pieces are needed.
    pub(super) fn close(&self) {
        self.state.lock().1 = true;
        self.moved.notify_all();
    }
}

/// Closes the window when a thread panics, so that no other thread waits for its piece.
struct CloseOnPanic<'a>(&'a Window);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.close();
        }
    }
}

/// Compresses pieces until there are no more or the window is closed.
pub(super) fn work(
    feed: &Mutex<Feed>,
    window: &Window,
    method: Method,
    cancellation: &Cancellation,
    mut send: impl FnMut(u64, Result<Piece, ArchiveError>) -> bool,
) {
    let _guard = CloseOnPanic(window);
    let mut coder = Coder::new(method);
    let mut buffer = Vec::new();
    loop {
        let (number, task) = {
            let mut feed = feed.lock();
            if !window.wait(feed.next) {
                return;
            }
            let number = feed.next;
            match feed.next() {
                Ok(Some(task)) => (task.number, Ok(task)),
                Ok(None) => return,
                Err(error) => {
                    // If another piece had this number too, the error would be lost.
                    feed.next += 1;
                    (number, Err(error))
                }
            }
        };
        let piece = task.and_then(|task| {
            go_on(cancellation)?;
            let coder = coder
                .as_mut()
                .map_err(|error| io::Error::other(error.to_string()))?;
            encode(task, coder, method, &mut buffer)
        });
        let is_over = piece.is_err();
        if !send(number, piece) || is_over {
            return;
        }
    }
}

fn encode(
    task: Task,
    coder: &mut Coder,
    method: Method,
    buffer: &mut Vec<u8>,
) -> Result<Piece, ArchiveError> {
    let text = match &task.source {
        Text::Bytes(bytes) => bytes.as_slice(),
        Text::Part(file, path, start, length) => {
            read(file, *start, *length, buffer).map_err(ArchiveError::io("read", path))?;
            buffer.as_slice()
        }
    };
    let mut crc = Hasher::new();
    crc.update(text);
    let size = text.len() as u64;
    // The target of a link must be readable without decompression, and compressing an empty file enlarges it.
    let is_plain = matches!(task.source, Text::Bytes(_)) || (task.is_whole && text.is_empty());
    let encoded = if is_plain {
        None
    } else {
        coder.encode(text, task.is_last)?
    };
    let (method, bytes) = match encoded {
        Some(bytes) if !task.is_whole || bytes.len() < text.len() => (Coder::number(method), bytes),
        None if !task.is_whole && !is_plain => (Coder::number(method), text.to_vec()),
        _ => (STORED, text.to_vec()),
    };
    Ok(Piece {
        begins: task.begins,
        bytes,
        size,
        crc,
        method,
        is_last: task.is_last,
    })
}

/// Reads `length` bytes of a file, or fewer if it has become shorter.
fn read(file: &File, start: u64, length: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.resize(usize::try_from(length).map_err(io::Error::other)?, 0);
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], start + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(filled);
    Ok(())
}
