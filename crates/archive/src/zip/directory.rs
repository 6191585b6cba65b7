//! Reads the central directory of a zip archive, and checks every claim in it.

use super::record::{CENTRAL, END, END64, LOCAL, LOCATOR64, SIZES64, UNIX_TIME};
use super::section::{Fields, Section};
use crate::error::ArchiveError;
use crate::limits::Budget;
use crate::names::LONGEST;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;

/// Maximum total length of all names in bytes, so that they fit into memory.
const MOST_NAMES: usize = 64 << 20;

/// A member as listed in the central directory.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) name: Vec<u8>,
    /// The Unix mode, or 0 if it is unknown.
    pub(super) mode: u32,
    pub(super) modified: Option<i64>,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) compressed: u64,
    pub(super) size: u64,
    /// Offset of its local record; after `locate`, of its bytes.
    pub(super) start: u64,
}

/// The location of the central directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    entries: u64,
    start: u64,
    size: u64,
    /// Offset of the end record.
    end: u64,
}

/// Returns all members. Their bytes lie within the archive and do not overlap.
pub(super) fn read(
    archive: &File,
    size: u64,
    budget: &mut Budget,
) -> Result<Vec<Listed>, ArchiveError> {
    let place = find(archive, size)?;
    budget.entries(place.entries)?;
    let is_inside = place.start.checked_add(place.size) == Some(place.end);
    if !is_inside || place.entries.saturating_mul(46) > place.size {
        return Err(damaged("its directory is not where it says"));
    }
    let section = Section::new(archive, place.start, place.end);
    let mut directory = BufReader::with_capacity(64 << 10, section);
    let mut listed: Vec<Listed> = Vec::new();
    let mut names = 0;
    let mut left = place.size;
    for _ in 0..place.entries {
        let (member, length) = entry(&mut directory)?;
        left = left
            .checked_sub(length)
            .ok_or_else(|| damaged("its directory is too long"))?;
        names += member.name.len();
        if names > MOST_NAMES {
            return Err(damaged("its names are too long"));
        }
        listed.push(member);
    }
    if left != 0 {
        return Err(damaged("its directory has more entries than it says"));
    }
    for member in &mut listed {
        locate(archive, member)?;
    }
    check_overlap(&listed, place.start)?;
    Ok(listed)
}

/// Finds the end record, and reads the location of the central directory.
fn find(archive: &File, size: u64) -> Result<Place, ArchiveError> {
    let length = size.min(22 + 65_535);
    let start = size - length;
    let mut tail = Vec::new();
    let mut section = Section::new(archive, start, size);
    section.read_to_end(&mut tail).map_err(unreadable)?;
    // The record ends with a comment. Without a check of its length, bytes in the comment could pass as a record.
    let is_end = |at: &usize| {
        let rest = &tail[*at..];
        let comment = rest
            .get(20..22)
            .map(|bytes| usize::from(bytes[0]) | usize::from(bytes[1]) << 8);
        rest.starts_with(&END.to_le_bytes())
            && comment.is_some_and(|comment| rest.len() == 22 + comment)
    };
    let last = tail.len().saturating_sub(21);
    let at = (0..last).rev().find(is_end);
    let at = at.ok_or_else(|| damaged("its end is not there"))?;
    let mut fields = Fields(&tail[at + 4..]);
    let disks = fields.u32()?;
    let (here, entries) = (fields.u16()?, fields.u16()?);
    let (directory, start32) = (fields.u32()?, fields.u32()?);
    let end = start + at as u64;
    let is_small = here != u16::MAX && directory != u32::MAX && start32 != u32::MAX;
    let place = Place {
        entries: u64::from(entries),
        start: u64::from(start32),
        size: u64::from(directory),
        end,
    };
    if is_small {
        if disks != 0 || here != entries {
            return Err(ArchiveError::Unsupported("more than one part".to_owned()));
        }
        return Ok(place);
    }
    match find64(archive, end)? {
        Some(place) => Ok(place),
        // All ones can be the actual value.
        None => Ok(place),
    }
}

/// Reads the 64-bit end record of a large archive, which precedes the ordinary one.
fn find64(archive: &File, end: u64) -> Result<Option<Place>, ArchiveError> {
    let mut locator = [0; 20];
    let Some(at) = end.checked_sub(20) else {
        return Ok(None);
    };
    archive
        .read_exact_at(&mut locator, at)
        .map_err(unreadable)?;
    let mut fields = Fields(&locator);
    if fields.u32()? != LOCATOR64 {
        return Ok(None);
    }
    let (disk, start, disks) = (fields.u32()?, fields.u64()?, fields.u32()?);
    if disk != 0 || disks > 1 {
        return Err(ArchiveError::Unsupported("more than one part".to_owned()));
    }
    if start.checked_add(56).is_none_or(|end| end > at) {
        return Err(damaged("its end is not where it says"));
    }
    let mut record = [0; 56];
    archive
        .read_exact_at(&mut record, start)
        .map_err(unreadable)?;
    let mut fields = Fields(&record);
    let (signature, length) = (fields.u32()?, fields.u64()?);
    let begins = start.checked_add(12);
    if signature != END64 || begins.and_then(|it| it.checked_add(length)) != Some(at) {
        return Err(damaged("its end is not where it says"));
    }
    fields.bytes(4 + 8)?;
    let (here, entries) = (fields.u64()?, fields.u64()?);
    if here != entries {
        return Err(ArchiveError::Unsupported("more than one part".to_owned()));
    }
    Ok(Some(Place {
        entries,
        size: fields.u64()?,
        start: fields.u64()?,
        end: start,
    }))
}

/// Reads one entry, and returns it with its length.
fn entry(directory: &mut impl Read) -> Result<(Listed, u64), ArchiveError> {
    let mut head = [0; 46];
    directory.read_exact(&mut head).map_err(unreadable)?;
    let mut fields = Fields(&head);
    if fields.u32()? != CENTRAL {
        return Err(damaged("its directory has something that is no entry"));
    }
    let made_by = fields.u16()?;
    fields.u16()?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.u32()?;
    let crc = fields.u32()?;
    let (compressed, size) = (fields.u32()?, fields.u32()?);
    let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
    fields.bytes(4)?;
    let (attributes, start) = (fields.u32()?, fields.u32()?);
    let mut rest = vec![0; usize::from(name) + usize::from(extra) + usize::from(comment)];
    directory.read_exact(&mut rest).map_err(unreadable)?;
    let (name, rest) = rest.split_at(usize::from(name));
    if name.len() > LONGEST {
        return Err(ArchiveError::refused(name, "has a name that is too long"));
    }
    if flags & 1 != 0 {
        return Err(ArchiveError::Unsupported(
            "an entry with a password".to_owned(),
        ));
    }
    let is_unix = matches!(made_by >> 8, 3 | 19);
    let mut listed = Listed {
        name: name.to_vec(),
        mode: if is_unix { attributes >> 16 } else { 0 },
        modified: None,
        method,
        crc,
        compressed: u64::from(compressed),
        size: u64::from(size),
        start: u64::from(start),
    };
    listed.read_extra(&rest[..usize::from(extra)])?;
    let length = 46 + listed.name.len() + rest.len();
    Ok((listed, length as u64))
}

impl Listed {
    fn read_extra(&mut self, extra: &[u8]) -> Result<(), ArchiveError> {
        let mut wide = [&mut self.size, &mut self.compressed, &mut self.start]
            .into_iter()
            .filter(|number| **number == u64::from(u32::MAX))
            .collect::<Vec<_>>();
        let mut fields = Fields(extra);
        // A rest that is shorter than a field is padding.
        while fields.0.len() >= 4 {
            let (kind, length) = (fields.u16()?, fields.u16()?);
            let mut body = Fields(fields.bytes(usize::from(length))?);
            match kind {
                SIZES64 => {
                    for number in wide.drain(..) {
                        *number = body.u64()?;
                    }
                }
                UNIX_TIME if body.0.len() >= 5 && body.0[0] & 1 != 0 => {
                    body.bytes(1)?;
                    self.modified = Some(i64::from(body.u32()?.cast_signed()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Finds the offset of a member's bytes from its local record.
fn locate(archive: &File, member: &mut Listed) -> Result<(), ArchiveError> {
    let mut head = [0; 30];
    let missing = |_| damaged("an entry is not where it says");
    archive
        .read_exact_at(&mut head, member.start)
        .map_err(missing)?;
    let mut fields = Fields(&head);
    if fields.u32()? != LOCAL {
        return Err(damaged("an entry is not where it says"));
    }
    fields.bytes(2 + 2)?;
    let method = fields.u16()?;
    fields.bytes(4 + 12)?;
    let (name, extra) = (fields.u16()?, fields.u16()?);
    let mut own = vec![0; usize::from(name)];
    let at = member
        .start
        .checked_add(30)
        .ok_or_else(|| damaged("an entry is nowhere"))?;
    archive.read_exact_at(&mut own, at).map_err(missing)?;
    // Tools that use the local record would see another entry.
    if own != member.name || method != member.method {
        return Err(ArchiveError::refused(
            &member.name,
            "is told of in two ways",
        ));
    }
    member.start = at + u64::from(name) + u64::from(extra);
    Ok(())
}

/// Fails if two members overlap, as in a zip bomb, or if one overlaps the central directory.
fn check_overlap(listed: &[Listed], directory: u64) -> Result<(), ArchiveError> {
    let range = |member: &Listed| {
        let begin = member.start - 30 - member.name.len() as u64;
        (
            begin.min(member.start),
            member.start.saturating_add(member.compressed),
        )
    };
    let mut ranges: Vec<(u64, u64)> = listed.iter().map(range).collect();
    ranges.sort_unstable();
    let mut last = 0;
    for (begin, end) in ranges {
        if begin < last {
            return Err(damaged("its entries overlap"));
        }
        last = end;
    }
    if last > directory {
        return Err(damaged("its entries overlap its directory"));
    }
    Ok(())
}

fn unreadable(error: std::io::Error) -> ArchiveError {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged("it ends too early"),
        _ => ArchiveError::from(error),
    }
}

fn damaged(what: &str) -> ArchiveError {
    ArchiveError::damaged(what)
}
