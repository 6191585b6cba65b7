use crate::error::ArchiveError;
use crate::limits::LinkTargets;
use crate::names::link_problem;
use fail_point::fail_point;
use process::{Folder, parent_and_name};
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The directory that an archive is unpacked into. Nothing is written outside it.
#[derive(Debug)]
pub(crate) struct Target {
    folder: RefCell<Folder>,
}

impl Target {
    /// Opens the directory, and creates it if it is missing.
    pub(crate) fn open(path: &Path) -> Result<Self, ArchiveError> {
        let make = || {
            fs::create_dir_all(path)?;
            Folder::open(path)
        };
        let opened: io::Result<Folder> = fail_point!("archive::unpack::open", make());
        let folder = opened.map_err(ArchiveError::io("open", path))?;
        Ok(Self {
            folder: folder.into(),
        })
    }

    /// Returns another handle to the same directory, for another thread.
    pub(crate) fn share(&self) -> Result<Self, ArchiveError> {
        let shared = self.folder.borrow().share();
        let folder = shared.map_err(ArchiveError::io("open", Path::new(".")))?;
        Ok(Self {
            folder: folder.into(),
        })
    }

    /// Creates a directory and its missing parents.
    pub(crate) fn make_folder(&self, path: &Path) -> Result<(), ArchiveError> {
        let mut folder = self.folder.borrow_mut();
        if folder.below(path).is_ok() {
            return Ok(());
        }
        let created = fail_point!("archive::unpack::create_folder", folder.create(path));
        created.map_err(ArchiveError::io("create the directory", path))
    }

    /// Creates a file in place of an existing entry. Only its owner can open it until its permissions are set.
    pub(crate) fn create_file(&self, path: &Path) -> Result<File, ArchiveError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || {
            self.place(path, |folder, name| {
                rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)
            })
        };
        let created = fail_point!("archive::unpack::create_file", create());
        created
            .map(File::from)
            .map_err(ArchiveError::io("create", path))
    }

    /// Adds a hard link to a file that was written.
    pub(crate) fn make_name(&self, first: &Path, path: &Path) -> Result<(), ArchiveError> {
        let link = || -> io::Result<()> {
            let (parent, name) = parent_and_name(first)?;
            let from = self
                .folder
                .borrow_mut()
                .below(parent)?
                .try_clone_to_owned()?;
            self.place(path, |folder, new| {
                rustix::fs::linkat(&from, name, folder, new, AtFlags::empty())
            })
        };
        self.make_parent(path)?;
        link().map_err(ArchiveError::io("create", path))
    }

    fn make_link(&self, path: &Path, target: &[u8], modified: i64) -> Result<(), ArchiveError> {
        self.make_parent(path)?;
        let create = || {
            self.place(path, |folder, name| {
                rustix::fs::symlinkat(OsStr::from_bytes(target), folder, name)?;
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                rustix::fs::utimensat(folder, name, &times(modified), flags)
            })
        };
        let created = fail_point!("archive::unpack::create_link", create());
        created.map_err(ArchiveError::io("create the link", path))
    }

    fn finish_folder(&self, path: &Path, mode: u32, modified: i64) -> Result<(), ArchiveError> {
        let finish = || -> io::Result<()> {
            let mut below = self.folder.borrow_mut();
            let folder = below.below(path)?;
            rustix::fs::fchmod(folder, permissions(mode) | Mode::RWXU)?;
            Ok(rustix::fs::futimens(folder, &times(modified))?)
        };
        finish().map_err(ArchiveError::io("set the permissions of", path))
    }

    fn make_parent(&self, path: &Path) -> Result<(), ArchiveError> {
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => self.make_folder(parent),
            _ => Ok(()),
        }
    }

    /// Creates an entry under a name, after removing an existing entry of that name.
    fn place<T>(
        &self,
        path: &Path,
        make: impl Fn(rustix::fd::BorrowedFd<'_>, &OsStr) -> rustix::io::Result<T>,
    ) -> io::Result<T> {
        let (parent, name) = parent_and_name(path)?;
        let is_missing = matches!(self.folder.borrow_mut().below(parent), Err(Errno::NOENT));
        if is_missing {
            self.make_folder(parent).map_err(io::Error::other)?;
        }
        let mut below = self.folder.borrow_mut();
        let folder = below.below(parent)?;
        match make(folder, name) {
            Err(Errno::EXIST) => {
                rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
                Ok(make(folder, name)?)
            }
            done => Ok(done?),
        }
    }
}

/// Sets the permissions and the time of a file after it was written.
pub(crate) fn finish_file(
    file: &File,
    path: &Path,
    mode: u32,
    modified: i64,
) -> Result<(), ArchiveError> {
    let finish = || -> io::Result<()> {
        rustix::fs::fchmod(file, permissions(mode))?;
        Ok(rustix::fs::futimens(file, &times(modified))?)
    };
    finish().map_err(ArchiveError::io("set the permissions of", path))
}

fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & 0o777)
}

fn times(modified: i64) -> Timestamps {
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    Timestamps {
        last_access: time(0, UTIME_OMIT),
        last_modification: time(modified, 0),
    }
}

/// Fails for a link whose target is not allowed.
pub(crate) fn checked_link(
    path: &Path,
    target: &[u8],
    allowed: LinkTargets,
) -> Result<(), ArchiveError> {
    let problem = match allowed {
        LinkTargets::Inside => link_problem(path, target),
        LinkTargets::Anywhere => {
            let is_path = !target.is_empty() && target.len() < 4096 && !target.contains(&0);
            (!is_path).then_some("is a link to nowhere")
        }
    };
    match problem {
        Some(why) => Err(ArchiveError::refused(path.as_os_str().as_bytes(), why)),
        None => Ok(()),
    }
}

/// Work for after all files are written: then no file is written through a link, and no directory changes
/// its time any more.
#[derive(Debug, Default)]
pub(crate) struct Later {
    pub(crate) links: Vec<(PathBuf, Vec<u8>, i64)>,
    pub(crate) folders: Vec<(PathBuf, u32, i64)>,
}

impl Later {
    /// Creates the links, then sets permissions and times of the directories, deepest first.
    pub(crate) fn finish(mut self, target: &Target) -> Result<(), ArchiveError> {
        for (path, to, modified) in &self.links {
            target.make_link(path, to, *modified)?;
        }
        self.folders
            .sort_unstable_by(|one, other| other.0.cmp(&one.0));
        for (path, mode, modified) in &self.folders {
            target.finish_folder(path, *mode, *modified)?;
        }
        Ok(())
    }
}
