//! Directories by descriptors, so that no link leads elsewhere, whoever puts it there and when.

use crate::error::StoreError;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps, chmod, mkdirat,
    openat, openat2, statat, utimensat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use crate::tree::ModifiedAt;

/// A directory that is opened to find its way, and for nothing else.
const WAY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Opens the directory that somebody named; links on the way to it are his own.
pub(crate) fn open_root(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

/// Opens a directory below another one, through no link.
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
        // A kernel before 5.6, or a filter that does not know the call.
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

/// Says what is in the place of a directory.
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

/// Makes a directory, if it is not there, which its owner may write to.
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

/// Gives a directory these rights, and never what a link in its place leads to.
pub(crate) fn set_mode(parent: BorrowedFd<'_>, name: &OsStr, mode: Mode) -> rustix::io::Result<()> {
    let directory = openat(parent, name, WAY, Mode::empty())?;
    // A descriptor opened for its path alone takes no chmod, but its name in /proc does, and needs
    // no permission on the directory itself.
    chmod(
        format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd()),
        mode,
    )
}

/// Says when something was changed last, be it a link.
pub(crate) fn set_modified(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    modified: ModifiedAt,
) -> rustix::io::Result<()> {
    utimensat(parent, name, &times(modified), AtFlags::SYMLINK_NOFOLLOW)
}

/// Returns the times of a file that was changed then; when it was read is nobody's business.
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
