use crate::error::ArchiveError;
use std::io::Read;
use tar::{EntryType, Header, PaxExtensions};

/// Size limit of an extension record before an entry.
const MOST: u64 = 1 << 20;

/// An entry of a tar archive; the bytes of its file follow in the stream.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) kind: EntryType,
    /// The target, if it is a link.
    pub(super) target: Vec<u8>,
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) modified: i64,
}

/// Attributes from the extension records before an entry.
#[derive(Debug, Default)]
struct More {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    size: Option<u64>,
    modified: Option<i64>,
}

/// Reads the next entry, or returns `None` after the last.
pub(super) fn next(archive: &mut impl Read) -> Result<Option<Entry>, ArchiveError> {
    let mut more = More::default();
    let mut block = [0; 512];
    loop {
        read(archive, &mut block)?;
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let header = Header::from_byte_slice(&block);
        check_sum(header)?;
        let size = header
            .entry_size()
            .map_err(|_| damaged("a size is no number"))?;
        match header.entry_type() {
            EntryType::GNULongName => more.name = Some(long(archive, size)?),
            EntryType::GNULongLink => more.target = Some(long(archive, size)?),
            EntryType::XHeader => more.read(&body(archive, size)?)?,
            EntryType::XGlobalHeader => {
                let mut all = More::default();
                all.read(&body(archive, size)?)?;
                // These would apply to every entry, which no honest tool writes.
                if all.name.is_some() || all.target.is_some() || all.size.is_some() {
                    return Err(damaged("it names all its entries alike"));
                }
            }
            kind => return entry(header, kind, size, more).map(Some),
        }
    }
}

fn entry(header: &Header, kind: EntryType, size: u64, more: More) -> Result<Entry, ArchiveError> {
    let name = more
        .name
        .unwrap_or_else(|| header.path_bytes().into_owned());
    // Tools that use the other size would see other entries.
    let size = match more.size {
        Some(told) if size != 0 && told != size => {
            return Err(ArchiveError::refused(&name, "has two sizes"));
        }
        Some(told) => told,
        None => size,
    };
    let target = || header.link_name_bytes().map(std::borrow::Cow::into_owned);
    // Old archives have no kind for directories, and mark them by a trailing slash.
    let is_old_folder = kind == EntryType::Regular && name.ends_with(b"/");
    let modified = || {
        header
            .mtime()
            .ok()
            .and_then(|seconds| i64::try_from(seconds).ok())
    };
    Ok(Entry {
        kind: if is_old_folder {
            EntryType::Directory
        } else {
            kind
        },
        target: more.target.or_else(target).unwrap_or_default(),
        size,
        mode: header.mode().map_err(|_| damaged("a mode is no number"))?,
        modified: more.modified.or_else(modified).unwrap_or(0),
        name,
    })
}

impl More {
    fn read(&mut self, records: &[u8]) -> Result<(), ArchiveError> {
        for record in PaxExtensions::new(records) {
            let record = record.map_err(|_| damaged("a record of an entry is none"))?;
            let (key, value) = (record.key_bytes(), record.value_bytes());
            let number = || std::str::from_utf8(value).ok();
            match key {
                b"path" => self.name = Some(value.to_vec()),
                b"linkpath" => self.target = Some(value.to_vec()),
                b"size" => {
                    let size = number().and_then(|text| text.parse().ok());
                    self.size = Some(size.ok_or_else(|| damaged("a size is no number"))?);
                }
                b"mtime" => {
                    let seconds = number().and_then(|text| text.split('.').next());
                    self.modified = seconds.and_then(|text| text.parse().ok());
                }
                _ if key.starts_with(b"GNU.sparse.") => {
                    return Err(ArchiveError::Unsupported("files with holes".to_owned()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads a long name, without its final NUL.
fn long(archive: &mut impl Read, size: u64) -> Result<Vec<u8>, ArchiveError> {
    let mut name = body(archive, size)?;
    if name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

fn body(archive: &mut impl Read, size: u64) -> Result<Vec<u8>, ArchiveError> {
    if size > MOST {
        return Err(damaged("what is said of an entry is too long"));
    }
    let length = usize::try_from(size).map_err(|_| damaged("a size is no number"))?;
    let mut bytes = vec![0; length.next_multiple_of(512)];
    read(archive, &mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// Reads exactly as many bytes as `bytes` holds.
pub(super) fn read(archive: &mut impl Read, bytes: &mut [u8]) -> Result<(), ArchiveError> {
    archive.read_exact(bytes).map_err(unreadable)
}

/// Converts the error of reading bytes that the archive must contain.
pub(super) fn unreadable(error: std::io::Error) -> ArchiveError {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged("it ends too early"),
        _ => match error.downcast::<ArchiveError>() {
            Ok(error) => error,
            Err(error) => damaged(&error.to_string()),
        },
    }
}

fn check_sum(header: &Header) -> Result<(), ArchiveError> {
    let bytes = header.as_bytes();
    let of = |byte: &u8| u32::from(*byte);
    let sum: u32 = bytes[..148]
        .iter()
        .chain(&bytes[156..])
        .map(of)
        .sum::<u32>()
        + 8 * 32;
    match header.cksum() {
        Ok(told) if told == sum => Ok(()),
        _ => Err(damaged("the check sum of an entry is wrong")),
    }
}

fn damaged(what: &str) -> ArchiveError {
    ArchiveError::damaged(what)
}
