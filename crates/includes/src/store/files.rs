//! Single files: written whole or not at all, read only when they are ours.

use fail_point::fail_point;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// After this time no writer is alive, where files cannot be locked.
const DEAD: Duration = Duration::from_hours(24);

/// After this time nobody is between making a file and locking it.
const UNLOCKED: Duration = Duration::from_mins(1);

/// A use is written down when the last one is longer ago: the order of removal need not be exact.
const USED_AGAIN: Duration = Duration::from_hours(1);

/// Writes a file under another name first, so that nobody ever sees a part of it.
pub(super) fn write(temp: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = temp.join(temp_name());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = fail_point!("includes::store::create_temp", options.open(&path))?;
    let written = fill(&mut file, bytes)
        .and_then(|()| fail_point!("includes::store::publish", fs::rename(&path, target)));
    if written.is_err() {
        // The first error is the one to tell; a later start removes what stays now.
        let _ = fs::remove_file(&path);
    }
    written
}

fn fill(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    // The lock ends with the writer, whatever ends him. Where there are no locks, or when somebody just
    // looks whether there is one, his file is left alone for its age: see `sweep`.
    let _ = file.try_lock();
    fail_point!("includes::store::write_temp", file.write_all(bytes))
}

/// Returns a name that no other writer has: neither here, nor in another process, nor on another
/// machine with the same files at the same time.
fn temp_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = time.unwrap_or_default().as_nanos();
    format!("{}-{number}-{time:x}", std::process::id())
}

/// Removes the files of writers that are dead.
///
/// They hold no lock any more. Whoever has just made a file does not hold it yet, so new files
/// of a living process stay.
pub(super) fn sweep(temp: &Path) {
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(file) = File::open(&path) else {
            continue;
        };
        let is_dead = match file.try_lock() {
            Ok(()) => is_writer_dead(&path) || is_older(&file, UNLOCKED),
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => is_older(&file, DEAD),
        };
        if is_dead {
            remove(&path);
        }
    }
}

fn is_writer_dead(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.split('-').next().and_then(|it| it.parse().ok());
    let pid = number.and_then(rustix::process::Pid::from_raw);
    pid.is_none_or(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

fn is_older(file: &File, limit: Duration) -> bool {
    let modified = file.metadata().and_then(|metadata| metadata.modified());
    let age = modified.map(|modified| modified.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age > limit)
}

/// Reads a file of at most so many bytes; nothing when it is not there or is longer.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut options = OpenOptions::new();
    // Neither another's file through a link, nor a pipe that nobody writes to.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if is_none_of_ours(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > limit {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    (&file).take(limit + 1).read_to_end(&mut bytes)?;
    if is_older(&file, USED_AGAIN) {
        // In a read-only directory nothing is removed either.
        let _ = file.set_modified(SystemTime::now());
    }
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

fn is_none_of_ours(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Removes a file if it can be; whoever reads it later finds out himself what is wrong with it.
pub(super) fn remove(path: &Path) {
    let removed = fail_point!("includes::store::remove", fs::remove_file(path));
    if let Err(error) = removed
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::debug!(path = %path.display(), %error, "File stays.");
    }
}

/// Returns the files of a folder; none when there is no such folder.
pub(super) fn list(folder: &Path) -> io::Result<Vec<(PathBuf, fs::Metadata)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        // One that is gone since is none.
        if let Ok(metadata) = entry.metadata() {
            files.push((entry.path(), metadata));
        }
    }
    Ok(files)
}
