use super::pieces::{Begin, Feed, Kind, Piece, Window, work};
use super::record::{Record, end};
use crate::error::ArchiveError;
use crate::format::Method;
use crate::members::Members;
use crate::pack::{Output, Packed};
use crc32fast::Hasher;
use executor_core::Cancellation;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStringExt;
use std::sync::mpsc;
use std::thread;

/// Writes a zip archive, compressed by `threads` threads.
pub(crate) fn write(
    members: Members,
    output: Output<'_>,
    method: Method,
    threads: NonZeroUsize,
    cancellation: &Cancellation,
) -> Result<Packed, ArchiveError> {
    let failed = output.failed();
    let feed = Mutex::new(Feed::new(members));
    let window = Window::new(threads.get() as u64 * 8);
    let mut writer = Writer::new(output.archive);
    let (sender, pieces) = mpsc::channel();
    thread::scope(|scope| {
        for started in 0..threads.get() {
            let (sender, feed, window) = (sender.clone(), &feed, &window);
            let send = move |number, piece| sender.send((number, piece)).is_ok();
            let work = move || work(feed, window, method, cancellation, send);
            match thread::Builder::new().spawn_scoped(scope, work) {
                Ok(_) => {}
                Err(error) if started == 0 => return Err(error.into()),
                // With fewer threads it takes longer.
                Err(_) => break,
            }
        }
        drop(sender);
        let written = write_in_order(&pieces, &window, |piece| writer.add(piece).map_err(&failed));
        window.close();
        written
    })?;
    let members = feed.into_inner();
    let mut packed = writer.finish().map_err(&failed)?;
    packed.skipped = members.into_members().skipped;
    Ok(packed)
}

/// Writes pieces in the order of their numbers, whatever order they arrive in.
fn write_in_order(
    pieces: &mpsc::Receiver<(u64, Result<Piece, ArchiveError>)>,
    window: &Window,
    mut write: impl FnMut(Piece) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut early = BTreeMap::new();
    let mut next = 0;
    while let Ok((number, piece)) = pieces.recv() {
        early.insert(number, piece);
        let before = next;
        while let Some(piece) = early.remove(&next) {
            write(piece?)?;
            next += 1;
        }
        if next > before {
            window.advance(next);
        }
    }
    Ok(())
}

/// An archive that is being written.
struct Writer {
    file: BufWriter<File>,
    offset: u64,
    records: Vec<Record>,
    /// The member that is being written, and its checksum so far.
    open: Option<(Record, Hasher)>,
    bytes: u64,
}

impl Writer {
    fn new(file: File) -> Self {
        Self {
            file: BufWriter::with_capacity(256 << 10, file),
            offset: 0,
            records: Vec::new(),
            open: None,
            bytes: 0,
        }
    }

    fn add(&mut self, piece: Piece) -> io::Result<()> {
        let is_whole = piece.begins.is_some() && piece.is_last;
        if let Some(begin) = piece.begins {
            let mut record = self.begin(begin, piece.method);
            if is_whole {
                // Sizes and checksum are known already, so the local record is written once.
                record.crc = piece.crc.clone().finalize();
                record.size = piece.size;
                record.compressed = piece.bytes.len() as u64;
            }
            self.write(&record.local())?;
            (record.size, record.compressed) = (0, 0);
            self.open = Some((record, Hasher::new()));
        }
        self.write(&piece.bytes)?;
        let Some((mut record, mut crc)) = self.open.take() else {
            return Err(io::Error::other("a piece of no member"));
        };
        record.size += piece.size;
        record.compressed += piece.bytes.len() as u64;
        crc.combine(&piece.crc);
        if !piece.is_last {
            self.open = Some((record, crc));
            return Ok(());
        }
        record.crc = crc.finalize();
        if !is_whole {
            self.file.seek(SeekFrom::Start(record.offset))?;
            self.file.write_all(&record.local())?;
            self.file.seek(SeekFrom::Start(self.offset))?;
        }
        if is_file(record.mode) {
            self.bytes += record.size;
        }
        self.records.push(record);
        Ok(())
    }

    fn begin(&self, begin: Begin, method: u16) -> Record {
        let mut name = begin.path.into_os_string().into_vec();
        let kind = match begin.kind {
            Kind::File => FILE,
            Kind::Link => LINK,
            Kind::Directory => DIRECTORY,
        };
        if begin.kind == Kind::Directory && !name.ends_with(b"/") {
            name.push(b'/');
        }
        Record {
            name,
            mode: kind | begin.permissions,
            modified: begin.modified,
            method,
            crc: 0,
            compressed: 0,
            size: 0,
            offset: self.offset,
            // A margin below 4 GiB, because incompressible data grows a little.
            is_large: begin.expected >= 0xff00_0000,
        }
    }

    fn finish(mut self) -> io::Result<Packed> {
        let start = self.offset;
        let records = std::mem::take(&mut self.records);
        for record in &records {
            self.write(&record.central())?;
        }
        let entries = records.len() as u64;
        self.write(&end(entries, start, self.offset - start))?;
        self.file.flush()?;
        Ok(Packed {
            entries,
            bytes: self.bytes,
            size: self.offset,
            skipped: Vec::new(),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const DIRECTORY: u32 = 0o040_000;

fn is_file(mode: u32) -> bool {
    mode & 0o170_000 == FILE
}
