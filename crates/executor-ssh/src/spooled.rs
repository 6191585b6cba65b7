//! An archive to send, in a file without a name, with the index of its entries.

use executor_core::ability::ByteStream;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use tar::{Archive, EntryType};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

/// Smaller archives are sent whole, since the index costs a round trip.
const SMALLEST: u64 = 64 << 10;
/// Larger archives are neither spooled nor kept on the host.
pub(crate) const LARGEST: u64 = 1 << 30;
/// The largest size of an index.
pub(crate) const LONGEST_INDEX: usize = 16 << 20;
/// The unit of archives.
const BLOCK: u64 = 512;
/// The size of the zeros at the end of an archive.
pub(crate) const END: usize = 1024;
/// The size of the pieces that are spooled.
const PIECE: usize = 256 * 1024;
/// Marks directories in an index.
pub(crate) const DIRECTORY: &str = "/";

/// An archive, or its beginning, in a file without a name.
pub(crate) struct Spooled {
    pub(crate) file: tokio::fs::File,
    /// How much of the archive is in the file.
    size: u64,
    /// What is not: the archive is too large, or the disk is full.
    rest: Option<ByteStream>,
    /// Empty when changes cannot be told from the archive.
    pub(crate) entries: Vec<Entry>,
    /// The name of an entry for which they cannot.
    pub(crate) odd_name: Option<String>,
}

/// An entry of an archive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Of all its bytes in the archive, headers included; begins with [`DIRECTORY`] for a directory.
    pub(crate) digest: String,
    pub(crate) bytes: std::ops::Range<u64>,
}

impl Entry {
    pub(crate) fn is_directory(&self) -> bool {
        self.digest.starts_with(DIRECTORY)
    }
}

impl Spooled {
    /// Reads an archive into this file, up to a size.
    pub(crate) async fn read(
        file: File,
        mut archive: ByteStream,
        largest: u64,
    ) -> io::Result<Self> {
        let mut file = tokio::fs::File::from_std(file);
        let mut size = 0;
        let rest: Option<ByteStream> = loop {
            let mut piece = Vec::with_capacity(PIECE);
            let mut next = (&mut archive).take(PIECE as u64);
            if next.read_to_end(&mut piece).await? == 0 {
                break None;
            }
            if file.write_all(&piece).await.is_err() || file.flush().await.is_err() {
                let piece: ByteStream = Box::new(Cursor::new(piece));
                break Some(Box::new(piece.chain(archive)));
            }
            size += piece.len() as u64;
            if size > largest {
                break Some(archive);
            }
        };
        let (mut entries, mut odd_name) = (Vec::new(), None);
        if rest.is_none() && size >= SMALLEST {
            let own = file.into_std().await;
            let reading = tokio::task::spawn_blocking(move || {
                // An archive that cannot be read is refused by the other transfer.
                let (entries, odd_name) = match self::entries(&own) {
                    Ok(Entries::Plain(entries)) => (entries, None),
                    Ok(Entries::Odd(name)) => (Vec::new(), Some(name)),
                    Ok(Entries::TooMany) | Err(_) => (Vec::new(), None),
                };
                (tokio::fs::File::from_std(own), entries, odd_name)
            });
            (file, entries, odd_name) = reading.await.map_err(io::Error::other)?;
        }
        Ok(Self {
            file,
            size,
            rest,
            entries,
            odd_name,
        })
    }

    /// Returns the whole archive.
    pub(crate) async fn into_stream(mut self) -> io::Result<ByteStream> {
        // Also waits for a read that was given up, which would move the position afterwards.
        self.file.rewind().await?;
        let start = self.file.take(self.size);
        Ok(match self.rest {
            None => Box::new(start),
            Some(rest) => Box::new(start.chain(rest)),
        })
    }
}

/// What an archive has.
#[derive(Debug, PartialEq, Eq)]
enum Entries {
    /// Files, directories and links with ordinary names.
    Plain(Vec<Entry>),
    /// Another entry, with this name.
    Odd(String),
    /// More than an index may have.
    TooMany,
}

/// Returns the entries of an archive.
fn entries(mut file: &File) -> io::Result<Entries> {
    file.rewind()?;
    let mut archive = Archive::new(BufReader::new(file));
    let mut found = Vec::new();
    let mut start = 0;
    for entry in archive.entries_with_seek()? {
        let entry = entry?;
        let kind = entry.header().entry_type();
        let is_known = matches!(
            kind,
            EntryType::Regular | EntryType::Directory | EntryType::Symlink
        );
        let bytes = entry.path_bytes();
        let name = std::str::from_utf8(&bytes).map(|name| name.trim_end_matches('/'));
        let name = match name {
            Ok(name) if is_known && is_exact_pattern(name) => name.to_owned(),
            _ => return Ok(Entries::Odd(String::from_utf8_lossy(&bytes).into_owned())),
        };
        let end = entry.raw_file_position() + entry.size().next_multiple_of(BLOCK);
        found.push(Entry {
            name,
            digest: String::from(if kind == EntryType::Directory {
                DIRECTORY
            } else {
                ""
            }),
            bytes: start..end,
        });
        start = end;
    }
    file.rewind()?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    for entry in &mut found {
        let mut digest = Sha256::new();
        let size = entry.bytes.end - entry.bytes.start;
        let copied = io::copy(&mut (&mut reader).take(size), &mut digest)?;
        if copied != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        entry.digest.push_str(&hex(&digest.finalize()));
    }
    Ok(match index(&found).len() {
        ..=LONGEST_INDEX => Entries::Plain(found),
        _ => Entries::TooMany,
    })
}

/// Returns whether a line with this name makes GNU tar leave out the entry of this name: it removes spaces at the end.
fn is_exact_pattern(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('/')
        && !name.ends_with(char::is_whitespace)
        && !name.chars().any(|it| it.is_control() || it == '\\')
}

/// Returns the index of an archive: a line for each entry, then one with a digest of these lines and the archive's size.
pub(crate) fn index(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {}", entry.digest, entry.name);
    }
    let end = entries.last().map_or(0, |last| last.bytes.end);
    let last = last_line(&text, &(end + END as u64).to_string());
    text + &last
}

fn last_line(lines: &str, size: &str) -> String {
    format!("= {} {size}\n", digest(lines.as_bytes()))
}

/// Returns the digests by name of an index; `None` if it is not complete, or its archive does not have this size.
pub(crate) fn parse_index(text: &str, size: &str) -> Option<HashMap<String, String>> {
    let text = text.trim_end_matches('\n');
    let (lines, _) = text.split_at(text.rfind('\n')? + 1);
    if format!("{text}\n") != lines.to_owned() + &last_line(lines, size) {
        return None;
    }
    let entries = lines.lines().filter_map(|line| line.split_once(' '));
    let known = entries.map(|(digest, name)| (name.to_owned(), digest.to_owned()));
    Some(known.collect())
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(32);
    for byte in &bytes[..16] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    fn archive(names: &[&str], size: usize) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for name in names {
            let mut header = tar::Header::new_gnu();
            header.set_size(size as u64);
            let content = vec![1; size];
            archive.append_data(&mut header, name, &*content).unwrap();
        }
        archive.into_inner().unwrap()
    }

    fn entries_of(names: &[&str]) -> Entries {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &archive(names, 10)).unwrap();
        entries(&file).unwrap()
    }

    fn plain(names: &[&str]) -> Vec<Entry> {
        match entries_of(names) {
            Entries::Plain(entries) => entries,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn incomplete_index_is_refused() {
        let names = ["a", "b c", "d"];
        let entries = plain(&names);
        let (text, size) = (index(&entries), archive(&names, 10).len().to_string());
        // The host prints an empty line at the end.
        let parse = |text: &str| parse_index(&format!("{text}\n"), &size);
        let known = parse(&text).unwrap();
        assert_eq!(known.len(), 3);
        assert_eq!(known["b c"], entries[1].digest);
        for cut in 0..text.len() - 1 {
            assert_eq!(parse(&text[..cut]), None, "{cut}");
        }
        assert_eq!(parse_index(&text, "512"), None);
    }

    #[test]
    fn names_that_are_no_exact_patterns_are_refused() {
        assert_eq!(plain(&["a", " a", "#a", "*"]).len(), 4);
        for name in ["a ", "a\n", "a\\", "a\u{3000}"] {
            assert_eq!(entries_of(&["a", name]), Entries::Odd(name.to_owned()));
        }
    }

    #[test]
    fn too_long_index_is_refused() {
        let names: Vec<_> = (0..5000).map(|it| format!("{it:04000}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(plain(&names[..10]).len(), 10);
        assert_eq!(entries_of(&names), Entries::TooMany);
    }

    #[tokio::test]
    async fn rest_of_a_large_archive_is_not_spooled() {
        let expect = archive(&["a", "b"], 3 * PIECE);
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let file = || tempfile::tempfile().unwrap();
        for (file, largest, spooled) in [
            (file(), LARGEST, expect.len() as u64),
            (file(), PIECE as u64, 2 * PIECE as u64),
            (full(), LARGEST, 0),
        ] {
            let stream = Box::new(Cursor::new(expect.clone()));
            let read = Spooled::read(file, stream, largest).await.unwrap();
            assert_eq!(read.size, spooled);
            let is_whole = spooled == expect.len() as u64;
            assert_eq!(read.entries.len(), if is_whole { 2 } else { 0 });
            let mut whole = Vec::new();
            let mut stream = read.into_stream().await.unwrap();
            stream.read_to_end(&mut whole).await.unwrap();
            assert!(whole == expect, "{spooled}");
        }
    }

    #[tokio::test]
    async fn stream_begins_at_the_start_also_after_a_read_that_was_given_up() {
        let expect = archive(&["a", "b"], 3 * PIECE);
        let file = tempfile::tempfile().unwrap();
        let stream = Box::new(Cursor::new(expect.clone()));
        let mut read = Spooled::read(file, stream, LARGEST).await.unwrap();
        read.file.rewind().await.unwrap();
        let mut buffer = vec![0; PIECE];
        // It is polled once and goes on in its thread.
        let _ = timeout(Duration::ZERO, read.file.read(&mut buffer)).await;
        let mut whole = Vec::new();
        let mut stream = read.into_stream().await.unwrap();
        stream.read_to_end(&mut whole).await.unwrap();
        assert!(whole == expect);
    }
}
