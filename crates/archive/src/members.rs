use crate::error::ArchiveError;
use crate::names::{self, Dialect};
use process::Folder;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::vec;

/// A path that was left out of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The path as the caller passed it.
    pub path: PathBuf,
    /// The reason as a fragment: `is neither a file nor a link nor a directory`.
    pub why: &'static str,
}

/// A member to pack.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) path: PathBuf,
    /// The permissions, without setuid, setgid and sticky bits.
    pub(crate) permissions: u32,
    /// Seconds since 1970.
    pub(crate) modified: i64,
    pub(crate) source: Source,
}

/// The kind and content of a member.
#[derive(Debug)]
pub(crate) enum Source {
    /// An open file, and its size when it was opened.
    File(File, u64),
    /// The target of a link.
    Link(Vec<u8>),
    Directory,
}

/// The members at some paths below a root, opened one after the other.
#[derive(Debug)]
pub(crate) struct Members {
    folder: Folder,
    paths: vec::IntoIter<PathBuf>,
    dialect: Dialect,
    /// The paths left out so far.
    pub(crate) skipped: Vec<Skipped>,
}

impl Members {
    /// Returns the members at these paths, each once and sorted by path.
    pub(crate) fn new(
        root: &Path,
        paths: &[PathBuf],
        dialect: Dialect,
    ) -> Result<Self, ArchiveError> {
        let mut paths = paths.to_vec();
        paths.sort_unstable();
        paths.dedup();
        Ok(Self {
            folder: Folder::open(root).map_err(ArchiveError::io("open", root))?,
            paths: paths.into_iter(),
            dialect,
            skipped: Vec::new(),
        })
    }

    /// Returns the next member, or `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Member>, ArchiveError> {
        while let Some(path) = self.paths.next() {
            let name = path.as_os_str().as_bytes();
            let found = match names::problem(name, self.dialect) {
                Some(why) => Found::Unfit(why),
                None => match self.open(&path) {
                    Ok(found) => found,
                    Err(Errno::NOENT | Errno::NXIO) => Found::Unfit("is not there any more"),
                    Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => {
                        Found::Unfit("lies behind a symbolic link")
                    }
                    Err(error) => return Err(ArchiveError::io("read", &path)(error.into())),
                },
            };
            match found {
                Found::Unfit(why) => self.skipped.push(Skipped { path, why }),
                Found::Member(stat, source) => {
                    return Ok(Some(Member {
                        path,
                        permissions: stat.st_mode & 0o777,
                        modified: stat.st_mtime,
                        source,
                    }));
                }
            }
        }
        Ok(None)
    }

    fn open(&mut self, path: &Path) -> rustix::io::Result<Found> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Found::Unfit("has no name"));
        };
        let folder = self.folder.below(parent)?;
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(Found::Member(stat, Source::Directory)),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
                Ok(Found::Member(stat, Source::Link(target.into_bytes())))
            }
            FileType::RegularFile => {
                // A pipe may have replaced it, which must not block, or a link, which must not be followed.
                let flags = OFlags::RDONLY
                    | OFlags::NOFOLLOW
                    | OFlags::NONBLOCK
                    | OFlags::NOCTTY
                    | OFlags::CLOEXEC;
                let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
                let stat = rustix::fs::fstat(&file)?;
                if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                    return Ok(Found::Unfit(NO_FILE));
                }
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                Ok(Found::Member(stat, Source::File(file.into(), size)))
            }
            _ => Ok(Found::Unfit(NO_FILE)),
        }
    }
}

const NO_FILE: &str = "is neither a file nor a link nor a directory";

enum Found {
    Member(Stat, Source),
    Unfit(&'static str),
}
