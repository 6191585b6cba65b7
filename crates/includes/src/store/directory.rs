//! The directory: whose it is, and what dead writers left in it.

use super::StoreError;
use super::files;
use fail_point::fail_point;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// The folders below the store's own.
pub(super) const FOLDERS: [&str; 3] = ["bodies", "entries", "temp"];

/// Returns whether the directory is there and the user's own.
///
/// Others could read what is kept in a directory of theirs, or put something into it.
pub(super) fn is_there(path: &Path) -> Result<bool, StoreError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StoreError::io("look at", path)(error)),
    };
    let refuse = |reason| StoreError::Refused {
        path: path.to_owned(),
        reason,
    };
    if metadata.is_symlink() {
        return Err(refuse("it is a symbolic link"));
    }
    if !metadata.is_dir() {
        return Err(refuse("it is no directory"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refuse("it belongs to another user"));
    }
    if metadata.mode() & 0o077 != 0 {
        let closed = fs::set_permissions(path, Permissions::from_mode(0o700));
        if closed.is_err() && metadata.mode() & 0o022 != 0 {
            return Err(refuse("others may write into it"));
        }
    }
    Ok(true)
}

/// Makes the directory and its folders, and removes what dead writers left.
pub(super) fn make(path: &Path) -> Result<(), StoreError> {
    let make = |path: &Path| {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        let made = fail_point!("includes::store::make_dir", builder.create(path));
        made.map_err(StoreError::io("create", path))
    };
    for folder in FOLDERS {
        make(&path.join(folder))?;
    }
    files::sweep(&path.join("temp"));
    Ok(())
}
