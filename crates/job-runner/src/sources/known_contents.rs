//! Digests of files by path and metadata, kept between runs.

use content_store::{ContentStore, Digest};
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The metadata of a file, which differs after each change once some time has passed since the last one:
/// the kernel's clock for files is coarser than its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    device: u64,
}

/// On all file systems, a change of this age has another timestamp than any later change.
const SETTLED: Duration = Duration::from_secs(3);

/// The header, followed by the digest of the rest.
const HEAD: &str = "runwright contents 1 ";

/// Digests by path and metadata.
#[derive(Debug, Default)]
pub(super) struct KnownContents(HashMap<PathBuf, (Stat, Digest)>);

impl Stat {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            mode: metadata.mode(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }

    /// Returns whether a change after `moment` will show in the metadata. It uses `ctime`, which programs cannot set.
    pub(super) fn is_settled(&self, moment: SystemTime) -> bool {
        let Ok(now) = moment.duration_since(UNIX_EPOCH) else {
            return false;
        };
        let before = i64::try_from(now.saturating_sub(SETTLED).as_secs()).unwrap_or(0);
        self.changed.0 < before
    }
}

impl KnownContents {
    /// Reads a file of digests. A missing or damaged file counts as empty.
    pub(super) fn load(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_default();
        let known = bytes.strip_prefix(HEAD.as_bytes()).and_then(|rest| {
            let (digest, records) = rest.split_at_checked(64)?;
            let digest: Digest = std::str::from_utf8(digest).ok()?.parse().ok()?;
            if Digest::of(records) != digest {
                return None;
            }
            records
                .split_inclusive(|&byte| byte == 0)
                .map(read_record)
                .collect()
        });
        Self(known.unwrap_or_default())
    }

    /// Returns the digest of a file with this metadata.
    pub(super) fn content(&self, path: &Path, stat: &Stat) -> Option<Digest> {
        let (known, content) = self.0.get(path)?;
        (known == stat).then_some(*content)
    }

    /// Replaces the stored digests by those of `files`, unless they are equal.
    pub(super) fn save<'f>(
        &self,
        store: &ContentStore,
        path: &Path,
        files: impl Iterator<Item = (&'f Path, Stat, Digest)> + Clone,
    ) -> io::Result<()> {
        let is_known = |(path, stat, content): (&Path, Stat, Digest)| {
            self.content(path, &stat) == Some(content)
        };
        if files.clone().count() == self.0.len() && files.clone().all(is_known) {
            return Ok(());
        }
        let mut records = Vec::new();
        for (path, stat, content) in files {
            write_record(&mut records, path, &stat, content)?;
        }
        let mut text = format!("{HEAD}{}", Digest::of(&records)).into_bytes();
        text.extend(records);
        store.write_note(path, &text).map_err(io::Error::other)
    }
}

fn write_record(out: &mut Vec<u8>, path: &Path, stat: &Stat, content: Digest) -> io::Result<()> {
    let Stat {
        mode,
        size,
        modified,
        changed,
        inode,
        device,
    } = stat;
    write!(
        out,
        "{content} {mode} {size} {} {} {} {} {inode} {device} ",
        modified.0, modified.1, changed.0, changed.1
    )?;
    out.extend_from_slice(path.as_os_str().as_bytes());
    out.push(0);
    Ok(())
}

fn read_record(record: &[u8]) -> Option<(PathBuf, (Stat, Digest))> {
    let mut fields = record.strip_suffix(&[0])?.splitn(10, |&byte| byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let content = text()?.parse().ok()?;
    let stat = Stat {
        mode: text()?.parse().ok()?,
        size: text()?.parse().ok()?,
        modified: (text()?.parse().ok()?, text()?.parse().ok()?),
        changed: (text()?.parse().ok()?, text()?.parse().ok()?),
        inode: text()?.parse().ok()?,
        device: text()?.parse().ok()?,
    };
    let path = std::ffi::OsString::from_vec(fields.next()?.to_vec());
    Some((path.into(), (stat, content)))
}

#[cfg(test)]
mod tests {
    use super::super::contents::{FileContent, TreeContents};
    use super::*;

    fn file(name: &str) -> (tempfile::TempDir, FileContent) {
        let root = tempfile::tempdir().expect("a directory");
        fs::write(root.path().join(name), "x").expect("written");
        let metadata = fs::symlink_metadata(root.path().join(name)).expect("there");
        let content = FileContent {
            path: name.into(),
            content: Some(Digest::of(b"x")),
            mode: metadata.mode(),
            stat: Some(Stat::of(&metadata)),
        };
        (root, content)
    }

    #[test]
    fn damaged_files_count_as_empty() {
        let (root, file) = file("a b\n\u{e9}");
        let index = root.path().join("index");
        let contents = TreeContents {
            files: vec![file.clone()],
            ..TreeContents::default()
        };
        let store = ContentStore::at(root.path().join("store"));
        KnownContents::default()
            .save(&store, &index, contents.settled())
            .expect("saved");
        let stat = file.stat.expect("settled");
        let known = |path: &Path| KnownContents::load(path).content(&file.path, &stat);
        assert_eq!(known(&index), file.content);
        let other = Stat { inode: 1, ..stat };
        assert_eq!(
            KnownContents::load(&index).content(&file.path, &other),
            None
        );
        let whole = fs::read(&index).expect("read");
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&index, &damaged).expect("written");
            assert_eq!(known(&index), None, "byte {at}");
            fs::write(&index, &whole[..at]).expect("written");
            assert_eq!(known(&index), None, "the first {at} bytes");
        }
    }

    #[test]
    fn recent_change_is_not_settled() {
        let (_root, file) = file("a");
        let stat = file.stat.expect("a stat");
        // Relative to the file's own time, so the duration of the test does not matter.
        let now =
            UNIX_EPOCH + Duration::from_secs(stat.changed.0.try_into().expect("not so long ago"));
        assert!(!stat.is_settled(now));
        assert!(stat.is_settled(now + 2 * SETTLED));
        assert!(!stat.is_settled(UNIX_EPOCH));
    }
}
