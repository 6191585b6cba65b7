use std::fs::{self, File, Metadata};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The metadata of a file that shows most changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    mode: u32,
    len: u64,
    inode: u64,
    modified: (i64, i64),
}

/// How long after a change another one may get the same time.
const CLOCK_TICK: Duration = Duration::from_millis(50);

impl Stamp {
    /// Returns the stamp of a path; `None` if nothing is there.
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|it| Self::new(&it))
    }

    fn new(metadata: &Metadata) -> Self {
        Self {
            mode: metadata.mode(),
            len: metadata.len(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Returns whether the file may change just after `now` without a change of its stamp.
    pub(super) fn is_fresh(&self, now: SystemTime) -> bool {
        let (Ok(seconds), Ok(nanos)) = (self.modified.0.try_into(), self.modified.1.try_into())
        else {
            return false;
        };
        let modified = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
        now.duration_since(modified)
            .map_or(true, |age| age < CLOCK_TICK)
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether it is a directory.
    pub(super) fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }

    /// Returns whether both have the same mode and length.
    pub(super) fn has_same_shape(&self, other: &Self) -> bool {
        (self.mode, self.len) == (other.mode, other.len)
    }
}

/// Returns a hash of the contents of a file, or of the target of a link.
pub(super) fn content_hash(path: &Path, stamp: Stamp) -> io::Result<u64> {
    let mut hash = DefaultHasher::new();
    match stamp.mode & 0o170_000 {
        0o120_000 => hash.write(fs::read_link(path)?.as_os_str().as_bytes()),
        0o100_000 => {
            let mut file = File::open(path)?;
            let mut buffer = vec![0; 1 << 16];
            loop {
                match file.read(&mut buffer)? {
                    0 => break,
                    read => hash.write(&buffer[..read]),
                }
            }
        }
        // Reading a pipe would wait for a writer.
        _ => {}
    }
    Ok(hash.finish())
}
