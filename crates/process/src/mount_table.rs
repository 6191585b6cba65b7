//! The mounts that this process sees.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Returns the mount points at and below `path`, newest mount first.
///
/// A directory with two mounts is there twice. The path must have no symbolic links.
pub(crate) fn points_within(path: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(within(path, &fs::read("/proc/self/mountinfo")?))
}

fn within(path: &Path, table: &[u8]) -> Vec<PathBuf> {
    let lines = table.split(|byte| *byte == b'\n').rev();
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    let points = points.map(unescape);
    points.filter(|point| point.starts_with(path)).collect()
}

/// Decodes octal escapes, which stand for blanks, backslashes and line ends.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let escaped = match rest {
            [b'\\', digits @ ..] => digits.first_chunk().copied().and_then(octal),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

fn octal(digits: [u8; 3]) -> Option<u8> {
    let text = std::str::from_utf8(&digits).ok()?;
    u8::from_str_radix(text, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_within_a_directory_are_newest_first() {
        let table = b"41 31 0:38 / /srv/a rw - tmpfs none rw\n\
            42 31 0:39 / /srv/a/b rw shared:3 - ext4 /dev/x rw\n\
            43 31 0:40 / /srv/ab rw - tmpfs none rw\n\
            44 31 0:41 / /srv/a/c\\040d\\134e\\012 rw - tmpfs none rw\n";
        let found = within(Path::new("/srv/a"), table);
        assert_eq!(
            found,
            ["/srv/a/c d\\e\n", "/srv/a/b", "/srv/a"].map(PathBuf::from)
        );
        assert_eq!(unescape(b"a\\9\\0"), PathBuf::from("a\\9\\0"));
    }
}
