//! Escapes paths as text without spaces.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Appends the path, with `%` and two hexadecimal digits for `%` and for each byte that is not printable.
pub(crate) fn escape_into(text: &mut String, path: &Path) {
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
pub(crate) fn unescape(text: &str) -> Option<PathBuf> {
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
