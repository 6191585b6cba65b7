use super::coder::{DEFLATED, STORED, ZSTD};
use super::directory::{self, Listed};
use super::section::Section;
use crate::error::{ArchiveError, go_on};
use crate::limits::{Budget, Job, Unpacked};
use crate::names::{Dialect, Kind, LONGEST, Names, path_of};
use crate::target::{Later, Target, checked_link, finish_file};
use crc32fast::Hasher;
use flate2::bufread::DeflateDecoder;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Unpacks a zip archive. All entries are checked before anything is written.
pub(crate) fn unpack(
    archive: &File,
    size: u64,
    into: &Path,
    mut budget: Budget,
    job: &Job<'_>,
) -> Result<Unpacked, ArchiveError> {
    let listed = directory::read(archive, size, &mut budget)?;
    let plan = Plan::of(archive, listed, &mut budget, job)?;
    let target = Target::open(into)?;
    for path in &plan.folders {
        go_on(job.cancellation)?;
        target.make_folder(path)?;
    }
    write_all(archive, &plan.files, &target, job)?;
    plan.later.finish(&target)?;
    Ok(plan.unpacked)
}

/// The checked entries to write.
#[derive(Debug, Default)]
struct Plan {
    folders: BTreeSet<PathBuf>,
    files: Vec<(PathBuf, Listed)>,
    later: Later,
    unpacked: Unpacked,
}

impl Plan {
    fn of(
        archive: &File,
        listed: Vec<Listed>,
        budget: &mut Budget,
        job: &Job<'_>,
    ) -> Result<Self, ArchiveError> {
        let mut plan = Self::default();
        let mut names = Names::default();
        for member in listed {
            go_on(job.cancellation)?;
            budget.bytes(member.size)?;
            plan.unpacked.entries += 1;
            let path = path_of(&member.name, Dialect::Zip)?;
            let kind = kind(&member)?;
            if path.as_os_str().is_empty() {
                if kind == Kind::Directory {
                    continue;
                }
                return Err(ArchiveError::refused(&member.name, "has no name"));
            }
            names.add(&path, kind)?;
            if let Some(parent) = path.parent() {
                plan.folders.insert(parent.to_owned());
            }
            let modified = member.modified.unwrap_or(0);
            match kind {
                Kind::Directory => {
                    let mode = if member.mode == 0 { 0o755 } else { member.mode };
                    plan.folders.insert(path.clone());
                    plan.later.folders.push((path, mode, modified));
                }
                Kind::Link => {
                    let to = text(archive, &member)?;
                    checked_link(&path, &to, job.limits.links)?;
                    plan.later.links.push((path, to, modified));
                }
                Kind::File => {
                    plan.unpacked.bytes += member.size;
                    plan.files.push((path, member));
                }
            }
        }
        plan.folders.remove(Path::new(""));
        Ok(plan)
    }
}

/// Returns the kind of a member, and refuses other kinds.
fn kind(member: &Listed) -> Result<Kind, ArchiveError> {
    let refused = |why| Err(ArchiveError::refused(&member.name, why));
    let is_folder = member.name.ends_with(b"/");
    match member.mode & 0o170_000 {
        0o040_000 => Ok(Kind::Directory),
        0 | 0o100_000 if is_folder => Ok(Kind::Directory),
        0 | 0o100_000 => Ok(Kind::File),
        0o120_000 if is_folder => refused("is a link and a directory"),
        0o120_000 => Ok(Kind::Link),
        0o010_000 => refused("is a pipe"),
        0o020_000 | 0o060_000 => refused("is a device"),
        _ => refused("is of an unknown kind"),
    }
}

/// Reads the target of a link.
fn text(archive: &File, member: &Listed) -> Result<Vec<u8>, ArchiveError> {
    if member.size > LONGEST as u64 {
        return Err(ArchiveError::refused(&member.name, "is a link to nowhere"));
    }
    let mut text = Vec::new();
    let mut buffer = vec![0; LONGEST];
    decode(archive, member, &mut buffer, |bytes| {
        text.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok(text)
}

/// Writes the files, on all processors.
fn write_all(
    archive: &File,
    files: &[(PathBuf, Listed)],
    target: &Target,
    job: &Job<'_>,
) -> Result<(), ArchiveError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    let work = |target: Target| -> Result<(), ArchiveError> {
        let mut buffer = vec![0; 128 << 10];
        while let Some((path, member)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let written = write(archive, path, member, &target, &mut buffer, job);
            if written.is_err() {
                is_over.store(true, Ordering::Relaxed);
                return written;
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let mut workers = Vec::new();
        // With fewer threads than wanted it takes longer. This thread is one of them.
        for _ in 1..threads.min(files.len()) {
            let target = target.share()?;
            match thread::Builder::new().spawn_scoped(scope, || work(target)) {
                Ok(worker) => workers.push(worker),
                Err(_) => break,
            }
        }
        let mut first = target.share().and_then(&work);
        for worker in workers {
            let done = worker
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread ended").into()));
            first = first.and(done);
        }
        first
    })
}

fn write(
    archive: &File,
    path: &Path,
    member: &Listed,
    target: &Target,
    buffer: &mut [u8],
    job: &Job<'_>,
) -> Result<(), ArchiveError> {
    let mut file = target.create_file(path)?;
    decode(archive, member, buffer, |bytes| {
        go_on(job.cancellation)?;
        file.write_all(bytes)
            .map_err(ArchiveError::io("write", path))
    })?;
    let mode = if member.mode == 0 { 0o644 } else { member.mode };
    finish_file(&file, path, mode, member.modified.unwrap_or(0))
}

/// Decompresses a member, and fails unless its size and checksum are as listed.
fn decode(
    archive: &File,
    member: &Listed,
    buffer: &mut [u8],
    write: impl FnMut(&[u8]) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let end = member.start.saturating_add(member.compressed);
    let section = Section::new(archive, member.start, end);
    let capacity = usize::try_from(member.compressed)
        .unwrap_or(usize::MAX)
        .clamp(16, 64 << 10);
    match member.method {
        STORED => copy(section, member, buffer, write),
        DEFLATED => {
            let packed = BufReader::with_capacity(capacity, section);
            copy(DeflateDecoder::new(packed), member, buffer, write)
        }
        ZSTD => {
            let packed = BufReader::with_capacity(capacity, section);
            copy(zstd::Decoder::with_buffer(packed)?, member, buffer, write)
        }
        other => Err(ArchiveError::Unsupported(format!(
            "an entry of the method {other}"
        ))),
    }
}

fn copy(
    mut bytes: impl Read,
    member: &Listed,
    buffer: &mut [u8],
    mut write: impl FnMut(&[u8]) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let wrong = |what: &str| {
        let name = String::from_utf8_lossy(&member.name);
        ArchiveError::damaged(format!("{name:?} {what}"))
    };
    let mut crc = Hasher::new();
    let mut size = 0;
    loop {
        let read = match bytes.read(buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(wrong("cannot be unpacked")),
        };
        size += read as u64;
        if size > member.size {
            return Err(wrong("is longer than it says"));
        }
        crc.update(&buffer[..read]);
        write(&buffer[..read])?;
    }
    if size < member.size {
        return Err(wrong("is shorter than it says"));
    }
    if crc.finalize() != member.crc {
        return Err(wrong("has a wrong check sum"));
    }
    Ok(())
}
