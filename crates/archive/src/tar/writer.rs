use crate::error::{ArchiveError, go_on};
use crate::format::Method;
use crate::members::{Member, Members, Source};
use crate::pack::{Output, Packed};
use executor_core::Cancellation;
use std::ffi::OsStr;
use std::io::{self, BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tar::{Builder, EntryType, Header};
use zstd::Encoder;

/// Writes a tar archive, compressed by `threads` threads.
pub(crate) fn write(
    mut members: Members,
    output: &Output<'_>,
    method: Method,
    threads: NonZeroUsize,
    cancellation: &Cancellation,
) -> Result<Packed, ArchiveError> {
    let failed = output.failed();
    let level = match method {
        Method::Zstd(level) => level,
        Method::Store | Method::Deflate(_) => zstd::DEFAULT_COMPRESSION_LEVEL,
    };
    let archive = output.archive.try_clone().map_err(&failed)?;
    let encoder = encoder(BufWriter::new(archive), level, threads).map_err(&failed)?;
    // Without a buffer, every small write would call the compressor.
    let mut builder = Builder::new(BufWriter::with_capacity(256 << 10, encoder));
    let mut packed = Packed::default();
    while let Some(member) = members.next()? {
        go_on(cancellation)?;
        packed.entries += 1;
        packed.bytes += add(&mut builder, member, &failed, cancellation)?;
    }
    let finish = || {
        let encoder = builder
            .into_inner()?
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        encoder.finish()?.flush()
    };
    finish().map_err(&failed)?;
    packed.size = output.archive.metadata().map_err(&failed)?.len();
    packed.skipped = members.skipped;
    Ok(packed)
}

fn encoder<W: Write>(
    output: W,
    level: i32,
    threads: NonZeroUsize,
) -> io::Result<Encoder<'static, W>> {
    let mut encoder = Encoder::new(output, level)?;
    encoder.include_checksum(true)?;
    let threads = u32::try_from(threads.get()).unwrap_or(u32::MAX);
    if threads > 1 {
        encoder.multithread(threads.min(64))?;
    }
    Ok(encoder)
}

/// Adds a member, and returns its size if it is a file, or 0.
fn add<W: Write>(
    builder: &mut Builder<W>,
    member: Member,
    failed: &impl Fn(io::Error) -> ArchiveError,
    cancellation: &Cancellation,
) -> Result<u64, ArchiveError> {
    let mut header = Header::new_gnu();
    header.set_mode(member.permissions);
    header.set_mtime(u64::try_from(member.modified).unwrap_or(0));
    header.set_size(0);
    header.set_uid(0);
    header.set_gid(0);
    match member.source {
        Source::Directory => {
            header.set_entry_type(EntryType::Directory);
            let name = member.path.join("");
            builder
                .append_data(&mut header, name, io::empty())
                .map_err(failed)?;
            Ok(0)
        }
        Source::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            let target = Path::new(OsStr::from_bytes(&target));
            builder
                .append_link(&mut header, &member.path, target)
                .map_err(failed)?;
            Ok(0)
        }
        Source::File(file, size) => {
            header.set_entry_type(EntryType::Regular);
            header.set_size(size);
            let mut text = Exactly {
                file,
                left: size,
                cancellation,
                stopped: None,
            };
            let added = builder.append_data(&mut header, &member.path, &mut text);
            match text.stopped {
                Some(Stopped::Cancelled) => Err(ArchiveError::Cancelled),
                Some(Stopped::Short) => Err(ArchiveError::Changed(member.path)),
                Some(Stopped::Unread(error)) => Err(ArchiveError::io("read", &member.path)(error)),
                None => added.map(|()| size).map_err(failed),
            }
        }
    }
}

/// Reads exactly `left` bytes of a file, because its size is already in the archive.
struct Exactly<'a> {
    file: std::fs::File,
    left: u64,
    cancellation: &'a Cancellation,
    stopped: Option<Stopped>,
}

enum Stopped {
    Cancelled,
    Short,
    Unread(io::Error),
}

impl Read for Exactly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let most = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let stopped = if go_on(self.cancellation).is_err() {
            Stopped::Cancelled
        } else {
            match self.file.read(&mut buffer[..most]) {
                Ok(0) => Stopped::Short,
                Ok(read) => {
                    self.left -= read as u64;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                Err(error) => Stopped::Unread(error),
            }
        };
        self.stopped = Some(stopped);
        Err(io::Error::other("the file cannot be read to its end"))
    }
}
