//! Directories that only their owner may enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// Creates a directory that only its owner may enter, and its parents with default permissions.
///
/// An existing directory gets these permissions too. A symbolic link in its place is refused, wherever it
/// leads, because a job may have created it.
///
/// # Errors
///
/// Fails if the path is not a directory, if it belongs to another user, or if it cannot be created.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
            open_to_owner_only(&open(path, flags, Mode::empty())?)
        }
        made => made,
    }
}

/// Creates a directory and its missing parents, which only their owner may enter.
///
/// Existing directories keep their permissions, so this is for places that others cannot write to.
///
/// # Errors
///
/// Fails if one of them cannot be created.
pub fn make_private_dir_all(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Gives all permissions on an open directory to its owner, and none to others.
///
/// It works on the descriptor, so a directory that is replaced by a link meanwhile is not followed.
pub(crate) fn open_to_owner_only(directory: &OwnedFd) -> io::Result<()> {
    // A descriptor opened with O_PATH does not support fchmod, but its name in /proc supports chmod, and
    // needs no permission on the directory.
    let name = format!("/proc/self/fd/{}", directory.as_raw_fd());
    Ok(rustix::fs::chmod(name, Mode::RWXU)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn existing_directory_becomes_private() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("parent/private");
        make_private_dir(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        fs::write(path.join("note"), "kept").unwrap();
        make_private_dir(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        assert_eq!(fs::read_to_string(path.join("note")).unwrap(), "kept");
    }

    #[test]
    fn missing_parents_are_private_too() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("parent/private");
        make_private_dir_all(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        let parent = root.path().join("parent");
        assert_eq!(mode(&parent), 0o700);
        fs::set_permissions(&parent, fs::Permissions::from_mode(0o750)).unwrap();
        make_private_dir_all(&path).unwrap();
        assert_eq!(mode(&parent), 0o750);
    }

    #[test]
    fn symbolic_link_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("target");
        fs::create_dir(&target).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).unwrap();
        let link = root.path().join("link");
        symlink(&target, &link).unwrap();
        assert!(make_private_dir(&link).is_err());
        assert_eq!(mode(&target), 0o755);
        fs::write(root.path().join("file"), "").unwrap();
        assert!(make_private_dir(&root.path().join("file")).is_err());
    }
}
