//! Directories that nobody but their owner may enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// Makes a directory for its owner alone, with parents as they usually are.
///
/// One that is there already is closed to others. A link in its place is refused,
/// wherever it leads: a job could have put it there.
///
/// # Errors
///
/// Fails if something else has the name, if it belongs to another user, or if it
/// cannot be made.
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

/// Gives the owner all rights on an open directory, and everybody else none.
///
/// Works on the descriptor, so a directory that is exchanged for a link meanwhile
/// is not followed.
pub(crate) fn open_to_owner_only(directory: &OwnedFd) -> io::Result<()> {
    // A descriptor opened for its path alone takes no chmod, but its name in
    // /proc does, and needs no permission on the directory itself.
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
    fn what_is_there_is_closed_to_others() {
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
    fn a_link_in_its_place_is_refused() {
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
