//! Opens directories by descriptor, so that no link redirects an access, not even one created meanwhile.

use crate::error::StoreError;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps, chmod, mkdirat,
    openat, openat2, statat, utimensat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use crate::entry::ModifiedAt;

/// Flags for a directory that is only the starting point of other calls.
const WAY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Opens the directory that the caller named. Links in its path are trusted and followed.
pub(crate) fn open_root(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

/// Opens a directory below another one without following links.
pub(crate) fn open_below(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, StoreError> {
    let explain = |error| match error {
        Errno::LOOP => StoreError::ThroughLink {
            path: path.to_owned(),
        },
        Errno::NOTDIR => unless_link(root, path),
        error => StoreError::file("open", path)(error.into()),
    };
    if path.as_os_str().is_empty() {
        return openat(root, c".", WAY, Mode::empty()).map_err(explain);
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, path, WAY, Mode::empty(), resolve) {
        // A kernel before 5.6, or a seccomp filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(root, path).map_err(explain),
        opened => opened.map_err(explain),
    }
}

fn step_by_step(root: BorrowedFd<'_>, path: &Path) -> rustix::io::Result<OwnedFd> {
    let mut at = openat(root, c".", WAY, Mode::empty())?;
    for part in path.components() {
        let Component::Normal(name) = part else {
            return Err(Errno::XDEV);
        };
        at = openat(&at, name, WAY, Mode::empty())?;
    }
    Ok(at)
}

/// Returns the error for a path that is not a directory: it goes through a link, or another entry is in its place.
fn unless_link(root: BorrowedFd<'_>, path: &Path) -> StoreError {
    let is_link = |path: &Path| {
        let found = statat(root, path, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Symlink)
    };
    let path = path.to_owned();
    if path.ancestors().any(is_link) {
        return StoreError::ThroughLink { path };
    }
    StoreError::InTheWay { path }
}

/// Creates a directory if it is missing, and makes it accessible to its owner.
pub(crate) fn make(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<()> {
    match mkdirat(parent, name, Mode::RWXU) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => {
            let status = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let is_directory = FileType::from_raw_mode(status.st_mode) == FileType::Directory;
            let mode = Mode::from_raw_mode(status.st_mode);
            if is_directory && !mode.contains(Mode::RWXU) {
                set_mode(parent, name, mode | Mode::RWXU)?;
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Sets the permissions of a directory, and never those of a link's target.
pub(crate) fn set_mode(parent: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> rustix::io::Result<()> {
    let directory = openat(parent, name, WAY, Mode::empty())?;
    // `fchmod` fails on an `O_PATH` descriptor. `chmod` of its name in /proc works, and needs no permission
    // on the directory itself.
    chmod(
        format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd()),
        mode,
    )
}

/// Sets the modification time of an entry; for a link, that of the link itself.
pub(crate) fn set_modified(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    modified: ModifiedAt,
) -> rustix::io::Result<()> {
    utimensat(parent, name, &times(modified), AtFlags::SYMLINK_NOFOLLOW)
}

/// Returns timestamps that set the modification time and leave the access time unchanged.
pub(crate) fn times(modified: ModifiedAt) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: modified.seconds,
            tv_nsec: i64::from(modified.nanoseconds),
        },
    }
}
