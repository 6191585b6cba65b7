use crate::digest::Digest;
use crate::entry::{Entry, EntryKind, ModifiedAt};
use crate::error::StoreError;
use crate::manifest;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// Files, links and directories by their paths relative to a directory that is not part of the tree.
///
/// Each parent directory of an entry is an entry too. No path leads out of the directory, or through a
/// file or a link of the same tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    digest: Digest,
    entries: Vec<Entry>,
    files: u64,
    bytes: u64,
}

impl Tree {
    /// Sorts the entries into a tree, and returns it with its text.
    ///
    /// # Errors
    ///
    /// When a path leads out, occurs twice, or lies below an entry that is not a directory of the tree.
    pub(crate) fn new(mut entries: Vec<Entry>) -> Result<(Self, String), StoreError> {
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let text = manifest::write(&entries);
        let tree = Self::named(Digest::of(text.as_bytes()), entries)?;
        Ok((tree, text))
    }

    /// Returns the tree of these entries, whose digest is known.
    ///
    /// # Errors
    ///
    /// As for [`Tree::new`], and when the entries are not sorted.
    pub(crate) fn named(digest: Digest, entries: Vec<Entry>) -> Result<Self, StoreError> {
        let mut directories: HashSet<&Path> = HashSet::new();
        let mut last: Option<&Path> = None;
        let (mut files, mut bytes) = (0_u64, 0_u64);
        for Entry { path, kind, .. } in &entries {
            let refused = || StoreError::Path { path: path.clone() };
            check_path(path)?;
            if last.is_some_and(|last| last >= path.as_path()) {
                return Err(refused());
            }
            last = Some(path);
            let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
            if parent.is_some_and(|parent| !directories.contains(parent)) {
                return Err(refused());
            }
            match kind {
                EntryKind::Directory { .. } => {
                    directories.insert(path);
                }
                EntryKind::File { size, .. } => {
                    files += 1;
                    bytes = bytes.saturating_add(*size);
                }
                EntryKind::Link { .. } => files += 1,
            }
        }
        Ok(Self {
            digest,
            entries,
            files,
            bytes,
        })
    }

    /// Returns the digest of the tree, which depends on every attribute of every entry.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns a digest that ignores modification times. Two jobs that write equal files at different times
    /// produce trees with different digests, but with the same timeless digest.
    pub fn timeless(&self) -> Digest {
        let entries = self.entries.iter().map(|entry| Entry {
            modified: ModifiedAt::default(),
            ..entry.clone()
        });
        let entries: Vec<Entry> = entries.collect();
        Digest::of(manifest::write(&entries).as_bytes())
    }

    /// Returns the entries, sorted so that a directory precedes its members.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the number of files and links.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Returns the total size of the files in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the entry at a path.
    pub fn entry(&self, path: &Path) -> Option<&Entry> {
        let found = self
            .entries
            .binary_search_by(|it| it.path.as_path().cmp(path));
        found.ok().map(|at| &self.entries[at])
    }
}

/// Refuses a path that does not lead from a directory to an entry below it.
pub(crate) fn check_path(path: &Path) -> Result<(), StoreError> {
    let mut parts = path.components().peekable();
    let plain = parts.peek().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_)))
        && !path.as_os_str().as_encoded_bytes().contains(&0)
        // `a//b` and `a/.` are other spellings of a path.
        && path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
    if plain {
        return Ok(());
    }
    Err(StoreError::Path {
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, kind: EntryKind) -> Entry {
        Entry {
            path: path.into(),
            kind,
            modified: ModifiedAt::default(),
        }
    }

    fn check(paths: &[(&str, char)], expect: Option<&str>) {
        let entries = paths.iter().map(|(path, kind)| {
            let kind = match kind {
                'd' => EntryKind::Directory { mode: 0o755 },
                'l' => EntryKind::Link { target: "/".into() },
                _ => EntryKind::File {
                    mode: 0o644,
                    size: 1,
                    content: Digest::of(b"x"),
                },
            };
            entry(path, kind)
        });
        let refused = match Tree::new(entries.collect()) {
            Err(StoreError::Path { path }) => Some(path),
            Err(other) => panic!("{other}"),
            Ok(_) => None,
        };
        assert_eq!(refused, expect.map(PathBuf::from), "{paths:?}");
    }

    #[test]
    fn timeless_digest_ignores_times() {
        let tree = |seconds, mode| {
            let kind = EntryKind::Directory { mode };
            let modified = ModifiedAt {
                seconds,
                nanoseconds: 0,
            };
            let path = "a".into();
            let entries = vec![Entry {
                path,
                kind,
                modified,
            }];
            Tree::new(entries).expect("a tree").0
        };
        assert_ne!(tree(1, 0o755).digest(), tree(2, 0o755).digest());
        assert_eq!(tree(1, 0o755).timeless(), tree(2, 0o755).timeless());
        assert_ne!(tree(1, 0o755).timeless(), tree(1, 0o700).timeless());
    }

    #[test]
    fn only_paths_below_listed_directories_are_accepted() {
        check(&[], None);
        check(&[("a/b", 'f'), ("a", 'd'), ("a-b", 'f')], None);
        check(&[("a/b", 'f')], Some("a/b"));
        check(&[("a", 'l'), ("a/b", 'f')], Some("a/b"));
        check(&[("a", 'f'), ("a", 'f')], Some("a"));
        for path in [
            "", ".", "..", "/a", "a/..", "../a", "a//b", "a/", "./a", "a\0b",
        ] {
            check(&[(path, 'f')], Some(path));
        }
    }
}
