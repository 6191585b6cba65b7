use super::error::FilesError;
use executor_core::Cancellation;
use process::Folder;
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Changes the owner of a file, or of a directory with its content.
///
/// Links are not followed: the owner of the link itself is changed. Other file systems below are left unchanged.
pub(super) fn chown(
    path: &Path,
    owner: (Uid, Gid),
    cancellation: &Cancellation,
) -> Result<(), FilesError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: Errno| FilesError::io("change the owner of", &path)(error.into())
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let (user, group) = owner;
            return rustix::fs::chownat(rustix::fs::CWD, path, Some(user), Some(group), flags)
                .map_err(failed(path));
        }
        opened => opened.map_err(failed(path))?,
    };
    let stat = rustix::fs::fstat(&root).map_err(failed(path))?;
    let mut tree = Tree {
        folder: Folder::from(root),
        device: stat.st_dev,
        owner,
    };
    // The directories that are still to be read.
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        if cancellation.is_canceled() {
            return Err(FilesError::Stopped);
        }
        tree.chown(&below, &mut open)
            .map_err(FilesError::io("change the owner of", &path.join(&below)))?;
    }
    Ok(())
}

struct Tree {
    folder: Folder,
    device: u64,
    owner: (Uid, Gid),
}

impl Tree {
    /// Changes the owner of a directory and of the files in it, and adds its subdirectories to `open`.
    fn chown(&mut self, path: &Path, open: &mut Vec<PathBuf>) -> io::Result<()> {
        let (user, group) = self.owner;
        let ids = (user.as_raw(), group.as_raw());
        let folder = match self.folder.below(path) {
            // It was removed or replaced meanwhile.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            folder => folder?,
        };
        if rustix::fs::fstat(folder)?.st_dev != self.device {
            return Ok(());
        }
        // Read first: a user other than root may lose access with the ownership.
        let entries: Vec<_> = Dir::read_from(folder)?.collect::<Result<_, _>>()?;
        for entry in entries {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let Ok(stat) = rustix::fs::statat(folder, name, flags) else {
                continue;
            };
            if FileType::from_raw_mode(stat.st_mode).is_dir() {
                open.push(path.join(name));
                continue;
            }
            if stat.st_dev != self.device || (stat.st_uid, stat.st_gid) == ids {
                continue;
            }
            match rustix::fs::chownat(folder, name, Some(user), Some(group), flags) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        rustix::fs::fchown(folder, Some(user), Some(group))?;
        Ok(())
    }
}
