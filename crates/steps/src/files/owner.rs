use super::error::FilesError;
use super::folder::Folder;
use executor_core::Cancellation;
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Gives a file, or a directory with all that is in it, to an owner.
///
/// No link is followed: a link itself is given away. What is mounted below stays as it is.
pub(super) fn give(
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
    // Directories that are still to be read, as paths below the first.
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        if cancellation.is_canceled() {
            return Err(FilesError::Stopped);
        }
        tree.give(&below, &mut open)
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
    /// Gives away a directory and the files in it, and adds the directories in it to `open`.
    fn give(&mut self, path: &Path, open: &mut Vec<PathBuf>) -> io::Result<()> {
        let (user, group) = self.owner;
        let ids = (user.as_raw(), group.as_raw());
        let folder = match self.folder.below(path) {
            // Somebody removed it, or put something else in its place.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            folder => folder?,
        };
        if rustix::fs::fstat(folder)?.st_dev != self.device {
            return Ok(());
        }
        // Who is not root may give it away only while it may still read it.
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
