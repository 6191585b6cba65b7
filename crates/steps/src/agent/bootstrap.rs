//! Copies this program into a directory.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::agent::PROGRAM;

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
    let copied = copy(&own, &partial).and_then(|()| fs::rename(&partial, &target));
    if copied.is_err() {
        // The first error is more specific.
        let _ = fs::remove_file(&partial);
    }
    copied.map(|()| target)
}

fn copy(own: &Path, partial: &Path) -> io::Result<()> {
    // It may be left from a killed process with the same id.
    if let Err(error) = fs::remove_file(partial)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o700)
        .open(partial)?;
    io::copy(&mut File::open(own)?, &mut file)?;
    // The umask may have removed permissions that others need.
    file.set_permissions(fs::Permissions::from_mode(0o755))?;
    file.sync_all()
}

fn is_same(own: &Path, target: &Path) -> bool {
    let executable = fs::symlink_metadata(target)
        .is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o777 == 0o755);
    executable
        && fs::metadata(own).ok().map(|it| it.len()) == fs::metadata(target).ok().map(|it| it.len())
        && matches!((fs::read(own), fs::read(target)), (Ok(own), Ok(there)) if own == there)
}
