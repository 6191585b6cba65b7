//! The text format of trees: one line for each entry.

use crate::entry::{Entry, EntryKind, ModifiedAt, RIGHTS};
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The first line, which names the version of the format.
const HEAD: &str = "runwright tree 1";

/// Formats the entries, which must be sorted.
pub(crate) fn write(entries: &[Entry]) -> String {
    let mut text = String::with_capacity(HEAD.len() + entries.len() * 144);
    text.push_str(HEAD);
    text.push('\n');
    for entry in entries {
        let Entry {
            path,
            kind,
            modified,
        } = entry;
        // Writing to a string does not fail.
        let _ = match kind {
            EntryKind::Directory { mode } => write!(text, "d {mode:o} "),
            EntryKind::File {
                mode,
                size,
                content,
            } => write!(text, "f {mode:o} {size} {content} "),
            EntryKind::Link { target } => {
                text.push_str("l ");
                escape_into(&mut text, target);
                text.push(' ');
                Ok(())
            }
        };
        let _ = write!(text, "{}.{:09} ", modified.seconds, modified.nanoseconds);
        escape_into(&mut text, path);
        text.push('\n');
    }
    text
}

/// Parses the entries.
///
/// # Errors
///
/// The number of the first invalid line.
pub(crate) fn read(text: &str) -> Result<Vec<Entry>, usize> {
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, head)| head != HEAD) {
        return Err(1);
    }
    let read = |(at, line): (usize, &str)| entry(line).ok_or(at + 1);
    lines.map(read).collect()
}

fn entry(line: &str) -> Option<Entry> {
    let mut words = line.split(' ');
    let kind = match words.next()? {
        "d" => EntryKind::Directory {
            mode: mode(words.next()?)?,
        },
        "f" => EntryKind::File {
            mode: mode(words.next()?)?,
            size: words.next()?.parse().ok()?,
            content: words.next()?.parse().ok()?,
        },
        "l" => EntryKind::Link {
            target: unescape(words.next()?)?,
        },
        _ => return None,
    };
    let (seconds, nanoseconds) = words.next()?.split_once('.')?;
    let modified = ModifiedAt {
        seconds: seconds.parse().ok()?,
        nanoseconds: nanoseconds.parse().ok().filter(|it| *it < 1_000_000_000)?,
    };
    let path = unescape(words.next()?)?;
    words.next().is_none().then_some(Entry {
        path,
        kind,
        modified,
    })
}

fn mode(text: &str) -> Option<u32> {
    let mode = u32::from_str_radix(text, 8).ok();
    mode.filter(|mode| mode & !RIGHTS == 0)
}

/// Appends the path, with `%` and two hexadecimal digits for `%` and for each byte that is not printable.
fn escape_into(text: &mut String, path: &Path) {
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            text.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(text, "%{byte:02x}");
        }
    }
}

/// Reverses [`escape_into`], or returns `None` for an invalid escape.
fn unescape(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    Some(OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn entries_round_trip_through_text() {
        let modified = ModifiedAt {
            seconds: -2,
            nanoseconds: 5,
        };
        let entry = |path: &str, kind| Entry {
            path: path.into(),
            kind,
            modified,
        };
        let content = Digest::of(b"x");
        let entries = vec![
            entry("a b", EntryKind::Directory { mode: 0o700 }),
            entry(
                "c",
                EntryKind::File {
                    mode: 0o640,
                    size: 1,
                    content,
                },
            ),
            entry(
                "d",
                EntryKind::Link {
                    target: "../\n".into(),
                },
            ),
        ];
        let text = write(&entries);
        let expect = format!(
            "runwright tree 1\nd 700 -2.000000005 a%20b\nf 640 1 {content} -2.000000005 c\n\
             l ../%0a -2.000000005 d\n"
        );
        assert_eq!(text, expect);
        assert_eq!(read(&text), Ok(entries));
    }

    #[test]
    fn invalid_line_is_reported_by_number() {
        let digest = Digest::of(b"x");
        let check = |line: &str| {
            let text = format!("{HEAD}\nd 700 0.000000000 a\n{line}\n");
            assert_eq!(read(&text), Err(3), "{line}");
        };
        for line in [
            "",
            "x",
            "d 700 0.0",
            "d 4755 0.0 a",
            "d 8 0.0 a",
            "d 700 0.1000000000 a",
        ] {
            check(line);
        }
        check("d 700 0.0 a b");
        check("l % 0.0 a");
        check(&format!("f 700 -1 {digest} 0.0 a"));
        check("f 700 1 abc 0.0 a");
        assert_eq!(read(""), Err(1));
        assert_eq!(read("runwright tree 2\n"), Err(1));
    }

    #[test]
    fn escaped_paths_round_trip() {
        let check = |bytes: &[u8], expect: &str| {
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            let mut text = String::new();
            escape_into(&mut text, &path);
            assert_eq!(text, expect);
            assert_eq!(unescape(&text), Some(path));
        };
        check(b"a/b.c", "a/b.c");
        check(b"a b\n%", "a%20b%0a%25");
        check(b"\xff\x00\xc3\xa9", "%ff%00%c3%a9");
        for torn in ["%", "%4", "%zz"] {
            assert_eq!(unescape(torn), None);
        }
    }
}
