use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The state of a path from its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    /// The metadata that differs after each write.
    pub(crate) stamp: Stamp,
}

/// The kind of an entry, as Git distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File { is_executable: bool },
    Link,
    Directory,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl State {
    /// Reads the state of a path; `None` when it does not exist.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if is_absence(&error) => return None,
            // An unreadable state, which differs from all others.
            Err(_) => {
                return Some(Self {
                    kind: Kind::Other,
                    size: 0,
                    stamp: Stamp {
                        inode: 0,
                        modified: (0, 0),
                        changed: (0, 0),
                    },
                });
            }
        };
        let file_type = metadata.file_type();
        let kind = if file_type.is_file() {
            Kind::File {
                is_executable: metadata.mode() & 0o100 != 0,
            }
        } else if file_type.is_symlink() {
            Kind::Link
        } else if file_type.is_dir() {
            Kind::Directory
        } else {
            Kind::Other
        };
        Some(Self {
            kind,
            size: metadata.len(),
            stamp: Stamp {
                inode: metadata.ino(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            },
        })
    }
}

fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}
