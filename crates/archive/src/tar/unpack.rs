use super::header::{self, Entry};
use crate::error::{ArchiveError, go_on};
use crate::limits::{Budget, Job, Unpacked};
use crate::names::{Dialect, Kind, Names, path_of};
use crate::target::{Later, Target, checked_link, finish_file};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use tar::EntryType;

/// Bytes of padding allowed after the end of the archive.
const PADDING: u64 = 1 << 20;

/// Unpacks a tar archive compressed with zstd, checking each entry before it is written.
pub(crate) fn unpack(
    archive: &File,
    target: &Target,
    budget: Budget,
    job: &Job<'_>,
) -> Result<Unpacked, ArchiveError> {
    let decoder = zstd::Decoder::new(archive).map_err(header::unreadable)?;
    unpack_plain(decoder, target, budget, job)
}

/// Unpacks a stream of uncompressed tar.
pub(crate) fn unpack_plain(
    archive: impl Read,
    target: &Target,
    budget: Budget,
    job: &Job<'_>,
) -> Result<Unpacked, ArchiveError> {
    let counted = Counted {
        inner: archive,
        budget,
    };
    let mut archive = BufReader::with_capacity(COPY, counted);
    let mut names = Names::default();
    let mut later = Later::default();
    let mut unpacked = Unpacked::default();
    let mut buffer = vec![0; COPY];
    while let Some(entry) = header::next(&mut archive)? {
        go_on(job.cancellation)?;
        archive.get_mut().budget.entries(1)?;
        unpacked.entries += 1;
        let path = path_of(&entry.name, Dialect::Tar)?;
        let refused = |why| Err(ArchiveError::refused(&entry.name, why));
        let is_strange = matches!(
            entry.kind,
            EntryType::Char | EntryType::Block | EntryType::Fifo
        );
        if is_strange && job.leaves_out_strange && entry.size == 0 {
            continue;
        }
        if !entry.kind.is_file() && entry.kind != EntryType::Continuous && entry.size != 0 {
            return refused("has bytes, but is no file");
        }
        match entry.kind {
            EntryType::Directory if path.as_os_str().is_empty() => {}
            _ if path.as_os_str().is_empty() => return refused("has no name"),
            EntryType::Directory => {
                names.add(&path, Kind::Directory)?;
                target.make_folder(&path)?;
                later.folders.push((path, entry.mode, entry.modified));
            }
            EntryType::Symlink => {
                names.add(&path, Kind::Link)?;
                checked_link(&path, &entry.target, job.limits.links)?;
                later.links.push((path, entry.target, entry.modified));
            }
            EntryType::Link => {
                let first = path_of(&entry.target, Dialect::Tar)?;
                if names.kind(&first) != Some(Kind::File) {
                    return refused("is another name of what is no file of the archive");
                }
                names.add(&path, Kind::File)?;
                target.make_name(&first, &path)?;
            }
            EntryType::Regular | EntryType::Continuous => {
                names.add(&path, Kind::File)?;
                archive.get_ref().budget.has_room_for(entry.size)?;
                let mut file = target.create_file(&path)?;
                copy(&mut archive, &entry, &mut file, &mut buffer, job)
                    .map_err(|error| error.about(&path))?;
                finish_file(&file, &path, entry.mode, entry.modified)?;
                unpacked.bytes += entry.size;
            }
            EntryType::Char | EntryType::Block => return refused("is a device"),
            EntryType::Fifo => return refused("is a pipe"),
            EntryType::GNUSparse => {
                return Err(ArchiveError::Unsupported("files with holes".to_owned()));
            }
            _ => return refused("is of an unknown kind"),
        }
    }
    drain(&mut archive)?;
    later.finish(target)?;
    Ok(unpacked)
}

const COPY: usize = 128 << 10;

/// Why the bytes of an entry could not be copied to its file.
enum Stopped {
    Archive(ArchiveError),
    File(io::Error),
}

impl Stopped {
    fn about(self, path: &std::path::Path) -> ArchiveError {
        match self {
            Self::Archive(error) => error,
            Self::File(error) => ArchiveError::io("write", path)(error),
        }
    }
}

fn copy(
    archive: &mut impl Read,
    entry: &Entry,
    file: &mut File,
    buffer: &mut [u8],
    job: &Job<'_>,
) -> Result<(), Stopped> {
    let mut left = entry.size;
    while left > 0 {
        go_on(job.cancellation).map_err(Stopped::Archive)?;
        let most = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        header::read(archive, &mut buffer[..most]).map_err(Stopped::Archive)?;
        file.write_all(&buffer[..most]).map_err(Stopped::File)?;
        left -= most as u64;
    }
    let rest = usize::try_from(entry.size % 512).unwrap_or(0);
    if rest > 0 {
        header::read(archive, &mut buffer[..512 - rest]).map_err(Stopped::Archive)?;
    }
    Ok(())
}

/// Reads past the last entry, so that the decoder verifies the checksum of the whole archive.
fn drain(archive: &mut impl Read) -> Result<(), ArchiveError> {
    let mut rest = archive.take(PADDING + 1);
    let read = io::copy(&mut rest, &mut io::sink()).map_err(header::unreadable)?;
    if read > PADDING {
        return Err(ArchiveError::damaged("it continues after its end"));
    }
    Ok(())
}

/// Charges all unpacked bytes to the budget, those of headers and padding too.
struct Counted<R> {
    inner: R,
    budget: Budget,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.budget.bytes(read as u64).map_err(io::Error::other)?;
        Ok(read)
    }
}
