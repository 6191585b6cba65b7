use crate::error::Error;
use std::fs;
use std::io;
use std::path::{Component, Path};

/// The most entries of a fetched tree.
const MAX_ENTRIES: u64 = 200_000;

/// Removes everything but files, directories and links that stay inside, and returns the bytes of the files.
///
/// A link may begin with steps up, at most to the root, and have none after that: then it stays inside also where it leads
/// through other such links.
pub(crate) fn sanitize(root: &Path, what: &str, max_bytes: u64) -> Result<u64, Error> {
    let mut walk = Walk {
        what,
        max_bytes,
        entries: 0,
        bytes: 0,
    };
    walk.folder(root, 0)?;
    Ok(walk.bytes)
}

/// Returns the bytes of the files below a directory. Unreadable ones count nothing.
pub(crate) fn size(root: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(root) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

struct Walk<'a> {
    what: &'a str,
    max_bytes: u64,
    entries: u64,
    bytes: u64,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), Error> {
        let failed = || Error::cache("read", folder);
        for entry in fs::read_dir(folder).map_err(failed())? {
            let path = entry.map_err(failed())?.path();
            self.entry(&path, depth)
                .map_err(Error::cache("look at", &path))?;
            if self.entries > MAX_ENTRIES {
                return Err(self.too_large(MAX_ENTRIES, "files"));
            }
            if self.bytes > self.max_bytes {
                return Err(self.too_large(self.max_bytes, "bytes"));
            }
            if path.symlink_metadata().is_ok_and(|it| it.is_dir()) {
                self.folder(&path, depth + 1)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        self.entries += 1;
        let metadata = path.symlink_metadata()?;
        if metadata.is_file() {
            self.bytes = self.bytes.saturating_add(metadata.len());
        } else if metadata.is_symlink() {
            if !stays_inside(&fs::read_link(path)?, depth) {
                fs::remove_file(path)?;
            }
        } else if !metadata.is_dir() {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    fn too_large(&self, limit: u64, unit: &'static str) -> Error {
        Error::TooLarge {
            what: self.what.to_owned(),
            limit,
            unit,
        }
    }
}

/// Returns whether the target of a link in a directory `depth` below the root is below the root.
fn stays_inside(target: &Path, depth: usize) -> bool {
    let mut parts = target.components().peekable();
    let mut ups = 0;
    while parts
        .next_if(|part| matches!(part, Component::ParentDir | Component::CurDir))
        .is_some_and(|part| {
            ups += usize::from(part == Component::ParentDir);
            true
        })
    {}
    ups <= depth && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_that_lead_out_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("file"), "12345").unwrap();
        let check = |link: &str, target: &str, stays: bool| {
            symlink(target, root.join(link)).unwrap();
            sanitize(root, "it", 100).unwrap();
            assert_eq!(root.join(link).is_symlink(), stays, "{link} {target}");
        };
        check("a/b/up", "../../file", true);
        check("a/b/here", "./up", true);
        check("a/b/top", "../..", true);
        check("a/b/out", "../../..", false);
        check("a/b/chain", "top/../..", false);
        check("absolute", "/etc/passwd", false);
        check("a/dangling", "nothing", true);
        let bytes = sanitize(root, "it", 100).unwrap();
        assert_eq!((bytes, size(root) >= 5), (5, true));
        let error = sanitize(root, "it", 4).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 4 bytes");
    }
}
