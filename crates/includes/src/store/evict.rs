//! Removes the least recently used files when the store grows too large.

use super::{StoreError, files};
use fail_point::fail_point;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The smallest size of a file on disk.
pub(super) const BLOCK: u64 = 4096;

/// A file that may be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) blocks: u64,
    pub(super) used: SystemTime,
}

/// Returns the least recently used files, whose removal leaves at most `blocks`.
pub(super) fn surplus(mut all: Vec<Candidate>, blocks: u64) -> Vec<Candidate> {
    let mut total: u64 = all.iter().map(|it| it.blocks).sum();
    all.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
    let number = all
        .iter()
        .take_while(|it| {
            let goes = total > blocks;
            total -= it.blocks.min(total);
            goes
        })
        .count();
    all.truncate(number);
    all
}

/// Records that a file was written, and removes others after each eighth of the budget.
///
/// The amount is the length of a file to which all processes append. That is cheap, and a killed process
/// leaves it correct. All files are listed only at a removal.
pub(super) fn grow(root: &Path, written: u64, budget: u64) -> Result<(), StoreError> {
    let path = root.join("growth");
    let grown = note(&path, written.div_ceil(BLOCK));
    let (file, blocks) = grown.map_err(StoreError::io("append to", &path))?;
    if blocks < budget / BLOCK / 8 {
        return Ok(());
    }
    if file.try_lock().is_err() {
        // Another process removes files now.
        return Ok(());
    }
    evict(root, budget - budget / 8)?;
    let reset = fail_point!("includes::store::reset_growth", file.set_len(0));
    reset.map_err(StoreError::io("shorten", &path))
}

fn note(path: &Path, blocks: u64) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    let mut file = fail_point!("includes::store::open_growth", options.open(path))?;
    let marks = vec![b'.'; usize::try_from(blocks).unwrap_or_default()];
    fail_point!("includes::store::note_growth", file.write_all(&marks))?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

fn evict(root: &Path, budget: u64) -> Result<(), StoreError> {
    let mut all = Vec::new();
    for folder in ["bodies", "entries"] {
        let folder = root.join(folder);
        let files = files::list(&folder).map_err(StoreError::io("list", &folder))?;
        all.extend(files.into_iter().map(|(path, metadata)| Candidate {
            path,
            blocks: metadata.len().div_ceil(BLOCK).max(1),
            used: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        }));
    }
    for candidate in surplus(all, budget / BLOCK) {
        files::remove(&candidate.path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn least_recently_used_files_are_removed() {
        let check = |sizes: &[(u64, u64)], room, expect: &[&str]| {
            let all = sizes
                .iter()
                .enumerate()
                .map(|(index, (used, blocks))| Candidate {
                    path: index.to_string().into(),
                    blocks: *blocks,
                    used: SystemTime::UNIX_EPOCH + Duration::from_secs(*used),
                });
            let gone = surplus(all.collect(), room);
            let gone: Vec<_> = gone.iter().map(|it| it.path.to_str().unwrap()).collect();
            assert_eq!(gone, expect, "{sizes:?} in {room}");
        };
        check(&[], 0, &[]);
        check(&[(1, 5), (2, 5)], 10, &[]);
        check(&[(2, 5), (1, 5)], 9, &["1"]);
        check(&[(3, 1), (1, 1), (2, 1)], 1, &["1", "2"]);
        check(&[(1, 1), (2, 100)], 0, &["0", "1"]);
        check(&[(1, 1), (1, 1)], 1, &["0"]);
    }
}
