use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What is at a path, as far as it can be told without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    /// Where and when it was written: equal as long as nobody has touched it.
    pub(crate) touch: Touch,
}

/// What kind of thing it is, in Git's eyes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File { is_executable: bool },
    Link,
    Directory,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touch {
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl State {
    /// Looks at a path; nothing when nothing is there.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if is_absence(&error) => return None,
            // Nobody can say what is there, which is another state than any other.
            Err(_) => {
                return Some(Self {
                    kind: Kind::Other,
                    size: 0,
                    touch: Touch {
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
            touch: Touch {
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
