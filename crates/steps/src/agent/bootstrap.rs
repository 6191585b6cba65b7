//! Copies this program into a directory.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::agent::PROGRAM;
use process::NewFile;

/// Copies the running program to `<directory>/runwright-agent`, and returns that path.
///
/// An existing file is replaced atomically, so that it can be started at any time. A file with the same content is kept.
///
/// # Errors
///
/// Fails if the directory does not exist, or the file cannot be written.
pub(crate) fn bootstrap(directory: &Path) -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let target = directory.join(PROGRAM);
    if is_same(&own, &target) {
        return Ok(target);
    }
    let partial = directory.join(format!(".{PROGRAM}.{}", std::process::id()));
    let mut new = NewFile::create(partial, 0o700)?;
    io::copy(&mut File::open(&own)?, new.file())?;
    // The umask may have removed permissions that others need.
    new.set_mode(0o755)?;
    new.file().sync_all()?;
    new.replace(&target)?;
    Ok(target)
}

fn is_same(own: &Path, target: &Path) -> bool {
    let executable = fs::symlink_metadata(target)
        .is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o777 == 0o755);
    executable
        && fs::metadata(own).ok().map(|it| it.len()) == fs::metadata(target).ok().map(|it| it.len())
        && matches!((fs::read(own), fs::read(target)), (Ok(own), Ok(there)) if own == there)
}
