//! Single files: written completely or not at all, read only if they are regular.

use fail_point::fail_point;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// A temporary file of this age has no writer, where files cannot be locked.
const DEAD: Duration = Duration::from_hours(24);

/// How long a new temporary file may be without its lock.
const UNLOCKED: Duration = Duration::from_mins(1);

/// The time of use is updated only after this time: the order of removal need not be exact.
const USED_AGAIN: Duration = Duration::from_hours(1);

/// Writes a file under a temporary name first, so that no reader sees a part of it.
pub(super) fn write(temp: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = temp.join(temp_name());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = fail_point!("includes::store::create_temp", options.open(&path))?;
    let written = fill(&mut file, bytes)
        .and_then(|()| fail_point!("includes::store::publish", fs::rename(&path, target)));
    if written.is_err() {
        // The first error is returned; a later start removes the temporary file.
        let _ = fs::remove_file(&path);
    }
    written
}

fn fill(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    // The lock ends with its process. Without locks, or while another process probes for one, the age
    // protects the file: see `sweep`.
    let _ = file.try_lock();
    fail_point!("includes::store::write_temp", file.write_all(bytes))
}

/// Returns a name that no other writer uses: not in this process, not in another one, and not on
/// another machine with the same files.
fn temp_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let time = time.unwrap_or_default().as_nanos();
    format!("{}-{number}-{time:x}", std::process::id())
}

/// Removes the temporary files of dead writers.
///
/// They are not locked. A living writer may not have locked its new file yet, so such files stay.
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

/// Reads a file of at most `limit` bytes; `None` if it does not exist or is longer.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut options = OpenOptions::new();
    // Follow no link to a file elsewhere, and do not wait for the writer of a pipe.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > limit {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    (&file).take(limit + 1).read_to_end(&mut bytes)?;
    if is_older(&file, USED_AGAIN) {
        // This may fail in a read-only directory, where nothing is removed either.
        let _ = file.set_modified(SystemTime::now());
    }
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Removes a file if possible; its next reader checks it anyway.
pub(super) fn remove(path: &Path) {
    let removed = fail_point!("includes::store::remove", fs::remove_file(path));
    if let Err(error) = removed
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::debug!(path = %path.display(), %error, "Could not remove file.");
    }
}

/// Returns the files of a folder; empty if the folder does not exist.
pub(super) fn list(folder: &Path) -> io::Result<Vec<(PathBuf, fs::Metadata)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        // Skip files that were removed meanwhile.
        if let Ok(metadata) = entry.metadata() {
            files.push((entry.path(), metadata));
        }
    }
    Ok(files)
}
