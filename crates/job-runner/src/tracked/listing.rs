use git::paths_in;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A tracked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tracked {
    pub(crate) path: PathBuf,
    /// The id of its content in the index; `None` during an unresolved merge and where Git assumes the file unchanged.
    pub(crate) id: Option<String>,
}

/// Reads the output of `git ls-files -v --stage -z`, without submodules.
pub(crate) fn parse(listing: &[u8]) -> Vec<Tracked> {
    let entries = listing.split(|byte| *byte == 0).filter_map(entry);
    let mut files: Vec<Tracked> = Vec::new();
    for tracked in entries {
        match files.last_mut() {
            // An unresolved merge lists a file once for each side.
            Some(last) if last.path == tracked.path => last.id = None,
            _ => files.push(tracked),
        }
    }
    files
}

fn entry(entry: &[u8]) -> Option<Tracked> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let (head, path) = (std::str::from_utf8(&entry[..tab]).ok()?, &entry[tab + 1..]);
    let mut words = head.split(' ');
    let (tag, mode, id, stage) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let is_file = mode != "160000" && !path.is_empty();
    is_file.then(|| Tracked {
        path: Path::new(OsStr::from_bytes(path)).to_owned(),
        id: (stage == "0" && !is_assumed_unchanged(tag)).then(|| id.to_owned()),
    })
}

/// Returns whether Git assumes a file unchanged, after `update-index --assume-unchanged` or `--skip-worktree`.
fn is_assumed_unchanged(tag: &str) -> bool {
    tag == "S" || tag.starts_with(|letter: char| letter.is_ascii_lowercase())
}

/// Returns the indexes of the files that a listing of `git ls-files -z` names.
pub(crate) fn indexes(files: &[Tracked], listing: &[u8]) -> Vec<usize> {
    if listing.is_empty() {
        return Vec::new();
    }
    let indexes_by_path = files.iter().enumerate();
    let indexes_by_path: HashMap<&Path, usize> =
        indexes_by_path.map(|(at, it)| (&*it.path, at)).collect();
    let named = paths_in(listing).filter_map(|path| indexes_by_path.get(path).copied());
    let mut named: Vec<usize> = named.collect();
    named.sort_unstable();
    named.dedup();
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_parsed_and_submodules_are_skipped() {
        let listing = b"H 100644 aa 0\ta\tb\nc\0H 160000 bb 0\tsub\0H 120000 cc 0\tlink\0\
                        M 100644 d1 1\tboth\0M 100644 d2 2\tboth\0H 100755 ee 0\t\xff\0nonsense\0\
                        h 100644 f1 0\tassumed\0S 100644 f2 0\tskipped\0";
        let files = parse(listing);
        let found: Vec<_> = files
            .iter()
            .map(|it| (it.path.as_os_str().as_bytes(), it.id.as_deref()))
            .collect();
        let expect: [(&[u8], Option<&str>); 6] = [
            (b"a\tb\nc", Some("aa")),
            (b"link", Some("cc")),
            (b"both", None),
            (b"\xff", Some("ee")),
            (b"assumed", None),
            (b"skipped", None),
        ];
        assert_eq!(found, expect);
        assert_eq!(indexes(&files, b"both\0link\0gone\0both\0"), [1, 2]);
        assert_eq!(indexes(&files, b""), [0; 0]);
    }
}
