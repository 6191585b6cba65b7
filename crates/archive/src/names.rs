//! Checks the names in an archive, each alone and against the others.

use crate::error::ArchiveError;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The maximum length of a path.
pub(crate) const LONGEST: usize = 4096 - 1;

/// The format whose rules a name follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Names of zip; a backslash is refused, because other tools read it as a slash.
    Zip,
    /// Names of tar, where a backslash is an ordinary character.
    Tar,
}

/// Returns the path that a name means, relative to the target directory. It is empty for `./`.
pub(crate) fn path_of(name: &[u8], dialect: Dialect) -> Result<PathBuf, ArchiveError> {
    match problem(name, dialect) {
        Some(why) => Err(ArchiveError::refused(name, why)),
        None => Ok(components(name).map(OsStr::from_bytes).collect()),
    }
}

fn components(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = name.split(|byte| *byte == b'/');
    parts.filter(|part| !part.is_empty() && *part != b".")
}

/// Returns the problem of a name, if it has one.
pub(crate) fn problem(name: &[u8], dialect: Dialect) -> Option<&'static str> {
    if name.is_empty() {
        return Some("has no name");
    }
    if name.len() > LONGEST || components(name).any(|part| part.len() > 255) {
        return Some("has a name that is too long");
    }
    if name.contains(&0) {
        return Some("has a NUL in its name");
    }
    if name.starts_with(b"/") {
        return Some("has an absolute name");
    }
    let is_drive = name.len() > 1 && name[0].is_ascii_alphabetic() && name[1] == b':';
    match dialect {
        Dialect::Zip if is_drive => return Some("names a drive"),
        Dialect::Tar if is_drive && name.get(2).is_some_and(|byte| b"/\\".contains(byte)) => {
            return Some("names a drive");
        }
        Dialect::Zip if name.contains(&b'\\') => return Some("has a backslash in its name"),
        _ => {}
    }
    if components(name).any(|part| part == b"..") {
        return Some("leads out of the directory");
    }
    None
}

/// Returns the problem of a link's target, if it has one.
///
/// `..` is allowed only at the beginning: the directories above a link are not links, so the result is
/// known. `a/..` can be anywhere if `a` is a link.
pub(crate) fn link_problem(link: &Path, target: &[u8]) -> Option<&'static str> {
    if target.is_empty() || target.len() > LONGEST || target.contains(&0) {
        return Some("is a link to nowhere");
    }
    if target.starts_with(b"/") {
        return Some("is a link that leads out of the directory");
    }
    let depth = link.components().count().saturating_sub(1);
    let mut parts = components(target).peekable();
    let mut ups = 0;
    while parts.next_if(|part| *part == b"..").is_some() {
        ups += 1;
    }
    if ups > depth || parts.any(|part| part == b"..") {
        return Some("is a link that leads out of the directory");
    }
    None
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    File,
    Link,
}

/// All paths of an archive, which must not conflict with each other.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<PathBuf, Kind>);

impl Names {
    /// Adds a path and its parent directories.
    pub(crate) fn add(&mut self, path: &Path, kind: Kind) -> Result<(), ArchiveError> {
        let refused = |why| Err(ArchiveError::refused(path.as_os_str().as_bytes(), why));
        match self.0.get(path) {
            None => {}
            Some(Kind::Directory) if kind == Kind::Directory => return Ok(()),
            Some(_) => return refused("is there twice"),
        }
        for above in path.ancestors().skip(1) {
            match self.0.get(above) {
                Some(Kind::Directory) => break,
                Some(Kind::Link) => return refused("lies behind a link of the archive"),
                Some(Kind::File) => return refused("lies below a file of the archive"),
                None if above.as_os_str().is_empty() => break,
                None => {
                    self.0.insert(above.to_owned(), Kind::Directory);
                }
            }
        }
        self.0.insert(path.to_owned(), kind);
        Ok(())
    }

    /// Returns the kind of the entry at a path.
    pub(crate) fn kind(&self, path: &Path) -> Option<Kind> {
        self.0.get(path).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_are_refused() {
        // input 22
        let check = |name: &str, dialect, expect: Option<&str>| {
            let path = path_of(name.as_bytes(), dialect).ok();
            assert_eq!(path.as_deref(), expect.map(Path::new), "{name:?}");
        };
        for dialect in [Dialect::Zip, Dialect::Tar] {
            check("a/b", dialect, Some("a/b"));
            check("./a//b/./c/", dialect, Some("a/b/c"));
            check("./", dialect, Some(""));
            check("...", dialect, Some("..."));
            check("a/..b", dialect, Some("a/..b"));
            for name in [
                "",
                "/abs",
                "//abs",
                "../x",
                "../../x",
                "a/../../x",
                "a/..",
                "..",
                "C:\\x",
                "c:/x",
                "a\0b",
            ] {
                check(name, dialect, None);
            }
            check(&"x".repeat(256), dialect, None);
            check(&"x/".repeat(3_000), dialect, None);
        }
        check("a\\..\\b", Dialect::Zip, None);
        check("C:x", Dialect::Zip, None);
        check(
            "dev-disk\\x2da.swap",
            Dialect::Tar,
            Some("dev-disk\\x2da.swap"),
        );
    }

    #[test]
    fn links_must_point_inside() {
        let check = |link: &str, target: &str, is_inside: bool| {
            let problem = link_problem(Path::new(link), target.as_bytes());
            assert_eq!(problem.is_none(), is_inside, "{link} -> {target}");
        };
        check("link", "file", true);
        check("a/link", "../file", true);
        check("a/b/link", "../../c/d", true);
        check("a/link", ".", true);
        check("link", "../file", false);
        check("a/link", "../../file", false);
        check("link", "/etc/passwd", false);
        check("link", "", false);
        // `a` may be a link to a directory far up in the tree.
        check("link", "a/../b", false);
        check("x/y/link", "a/b/../../c", false);
    }

    #[test]
    fn conflicting_entries_are_refused() {
        use Kind::{Directory, File, Link};
        let check = |entries: &[(&str, Kind)], fits: bool| {
            let mut names = Names::default();
            let added = entries
                .iter()
                .try_for_each(|(path, kind)| names.add(Path::new(path), *kind));
            assert_eq!(added.is_ok(), fits, "{entries:?}: {added:?}");
        };
        check(&[("a/b", File), ("a", Directory), ("a/c", Link)], true);
        check(&[("a", Directory), ("a", Directory)], true);
        check(&[("a", File), ("a", File)], false);
        // input 23
        check(&[("d", Link), ("d/f", File)], false);
        check(&[("d/f", File), ("d", Link)], false);
        // input 24
        check(&[("d", Link), ("d", Directory)], false);
        check(&[("d", Directory), ("d", Link)], false);
        check(&[("a", File), ("a/b/c", File)], false);
        check(&[("a/b/c", File), ("a/b", File)], false);
    }
}
