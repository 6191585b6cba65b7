//! The directory of the store: ownership, creation, and removal of temporary files.

use super::StoreError;
use super::files;
use fail_point::fail_point;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// The folders of the store.
pub(super) const FOLDERS: [&str; 3] = ["bodies", "entries", "temp"];

/// Returns whether the directory exists and belongs to the user.
///
/// In another user's directory, others could read the answers or replace them.
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
        return Err(refuse("it is not a directory"));
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

/// Creates the directory and its folders, and removes the temporary files of dead writers.
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    let create = |path: &Path| {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        let created = fail_point!("includes::store::make_dir", builder.create(path));
        created.map_err(StoreError::io("create", path))
    };
    for folder in FOLDERS {
        create(&path.join(folder))?;
    }
    files::sweep(&path.join("temp"));
    Ok(())
}
