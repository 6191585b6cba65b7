use crate::digest::Digest;
use crate::error::StoreError;
use crate::manifest;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// Files, links and directories by their paths below some directory, which the tree does not name.
///
/// Every directory on the way to an entry is one too. No path leads out, and none through a file or
/// a link of the same tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    digest: Digest,
    entries: Vec<Entry>,
    files: u64,
    bytes: u64,
}

/// What is at one path of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path, relative.
    pub path: PathBuf,
    /// What is there.
    pub kind: EntryKind,
    /// When it was changed last.
    pub modified: ModifiedAt,
}

/// A kind of thing, and what is particular to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Directory {
        /// Its rights; no bits that lend out those of somebody.
        mode: u32,
    },
    /// A file.
    File {
        /// Its rights; no bits that lend out those of somebody.
        mode: u32,
        /// How many bytes it has.
        size: u64,
        /// The name of its content.
        content: Digest,
    },
    /// A symbolic link, wherever it leads.
    Link {
        /// What it says.
        target: PathBuf,
    },
}

/// A time, as file systems count it: since 1970, in UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModifiedAt {
    /// Whole seconds.
    pub seconds: i64,
    /// And nanoseconds.
    pub nanoseconds: u32,
}

/// The rights that a tree may give.
pub(crate) const RIGHTS: u32 = 0o777;

impl Tree {
    /// Returns the tree of these entries, sorted, and its text.
    ///
    /// # Errors
    ///
    /// When a path leads out, is there twice, or lies below what is no directory of the tree.
    pub(crate) fn new(mut entries: Vec<Entry>) -> Result<(Self, String), StoreError> {
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let text = manifest::write(&entries);
        let tree = Self::named(Digest::of(text.as_bytes()), entries)?;
        Ok((tree, text))
    }

    /// Returns the tree of these entries, whose name is known.
    ///
    /// # Errors
    ///
    /// As [`Tree::new`], and when they are not sorted.
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

    /// Returns the name of the tree, which changes with everything in it.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns a digest of what is in it without the times: two jobs that leave the same at different
    /// times leave trees whose digests differ, and this one does not.
    pub fn timeless(&self) -> Digest {
        let entries = self.entries.iter().map(|entry| Entry {
            modified: ModifiedAt::default(),
            ..entry.clone()
        });
        let entries: Vec<Entry> = entries.collect();
        Digest::of(manifest::write(&entries).as_bytes())
    }

    /// Returns what is in it, sorted: a directory before what it holds.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns how many files and links it has.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Returns how many bytes its files have together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns what is at a path.
    pub fn entry(&self, path: &Path) -> Option<&Entry> {
        let found = self
            .entries
            .binary_search_by(|it| it.path.as_path().cmp(path));
        found.ok().map(|at| &self.entries[at])
    }
}

/// Refuses what does not lead from one directory to something below it.
pub(crate) fn check_path(path: &Path) -> Result<(), StoreError> {
    let mut parts = path.components().peekable();
    let plain = parts.peek().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_)))
        && !path.as_os_str().as_encoded_bytes().contains(&0)
        // `a//b` and `a/.` are other names of the same place.
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
    fn times_are_no_matter_of_content() {
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
    fn only_paths_that_lead_down_make_a_tree() {
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
