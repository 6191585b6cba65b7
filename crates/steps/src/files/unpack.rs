use super::error::FilesError;
use super::name::path_of;
use fail_point::fail_point;
use process::{Folder, parent_and_name};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tar::{Archive, Entry, EntryType};

/// Unpacks an archive below a directory, which is created if necessary.
///
/// Nothing outside of it is written: no name leads out, and no link is followed, whether it is from the archive or was
/// there before. Existing files are replaced. Permissions and times are kept, without set-id bits; files belong to the
/// current user.
///
/// `archive::unpack_tar` shares the [`Folder`] but not this loop: it unpacks archives from anywhere, so it limits sizes,
/// refuses repeated names and sparse files, and creates links last, with times in whole seconds. A caller of the service
/// can run any program in the environment, so this loop has no limits; it keeps exact times and sparse files, and accepts
/// repeated names.
pub(super) fn unpack(directory: &Path, archive: impl Read) -> Result<(), FilesError> {
    let open = || {
        fs::create_dir_all(directory)?;
        Folder::open(directory)
    };
    let folder = fail_point!("steps::files::open", open());
    let mut target = Target {
        folder: folder.map_err(FilesError::io("open", directory))?,
        finish_later: Vec::new(),
    };
    let mut archive = Archive::new(archive);
    for entry in archive.entries().map_err(FilesError::Archive)? {
        target.add(&mut entry.map_err(FilesError::Archive)?)?;
    }
    target.finish()?;
    // The padding of the last block: the sender waits until it is read.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(FilesError::Archive)?;
    Ok(())
}

#[derive(Debug)]
struct Target {
    folder: Folder,
    /// Directories whose attributes are set at the end, since each new file changes their time.
    finish_later: Vec<(PathBuf, Attributes)>,
}

#[derive(Debug, Clone, Copy)]
struct Attributes {
    mode: Mode,
    modified: Timespec,
}

impl Target {
    fn add<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<(), FilesError> {
        let name = entry.path_bytes().into_owned();
        let refused = |why| FilesError::refused(&name, why);
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XGlobalHeader | EntryType::XHeader) {
            return Ok(());
        }
        let path = path_of(&name).map_err(refused)?;
        if path.as_os_str().is_empty() {
            return match kind {
                EntryType::Directory => Ok(()),
                _ => Err(refused("has no name")),
            };
        }
        let attributes = attributes(entry)?;
        match kind {
            EntryType::Directory => self.add_folder(path, attributes),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                self.add_file(&path, entry, attributes)
            }
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                let is_path = !target.is_empty() && target.len() < 4096 && !target.contains(&0);
                if !is_path {
                    return Err(refused("is a link without a valid target"));
                }
                self.add_link(&path, &target, attributes)
            }
            EntryType::Link => {
                let first = entry.link_name_bytes().unwrap_or_default().into_owned();
                let first = path_of(&first).map_err(refused)?;
                self.add_name(&path, &first)
            }
            EntryType::Char | EntryType::Block => Err(refused("is a device")),
            EntryType::Fifo => Err(refused("is a pipe")),
            _ => Err(refused("is of an unknown kind")),
        }
    }

    fn add_folder(&mut self, path: PathBuf, attributes: Attributes) -> Result<(), FilesError> {
        let mut add = || -> io::Result<()> {
            let (parent, name) = parent_and_name(&path)?;
            self.folder.create(parent)?;
            let folder = self.folder.below(parent)?;
            if let Ok(there) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                && !rustix::fs::FileType::from_raw_mode(there.st_mode).is_dir()
            {
                rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
                self.folder.forget();
            }
            self.folder.create(&path)
        };
        let made = fail_point!("steps::files::create_folder", add());
        made.map_err(FilesError::io("create the directory", &path))?;
        self.finish_later.push((path, attributes));
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &Path,
        content: &mut impl Read,
        attributes: Attributes,
    ) -> Result<(), FilesError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let created = self.place(path, |folder, name| {
            rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)
        });
        let created = fail_point!("steps::files::create_file", created);
        let mut file = File::from(created.map_err(FilesError::io("create", path))?);
        copy(content, &mut file, path)?;
        let finish = || -> io::Result<()> {
            rustix::fs::fchmod(&file, attributes.mode)?;
            Ok(rustix::fs::futimens(&file, &times(attributes.modified))?)
        };
        finish().map_err(FilesError::io("set the permissions of", path))
    }

    fn add_link(
        &mut self,
        path: &Path,
        target: &[u8],
        attributes: Attributes,
    ) -> Result<(), FilesError> {
        let linked = self.place(path, |folder, name| {
            rustix::fs::symlinkat(OsStr::from_bytes(target), folder, name)?;
            let times = times(attributes.modified);
            rustix::fs::utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)
        });
        linked.map_err(FilesError::io("create the link", path))
    }

    fn add_name(&mut self, path: &Path, first: &Path) -> Result<(), FilesError> {
        let mut link = || -> io::Result<()> {
            let (parent, first_name) = parent_and_name(first)?;
            let from = self.folder.below(parent)?.try_clone_to_owned()?;
            self.place(path, |folder, name| {
                rustix::fs::linkat(&from, first_name, folder, name, AtFlags::empty())
            })
        };
        link().map_err(FilesError::io("create", path))
    }

    /// Creates something under a name; an existing entry is removed.
    fn place<T>(
        &mut self,
        path: &Path,
        make: impl Fn(BorrowedFd<'_>, &OsStr) -> rustix::io::Result<T>,
    ) -> io::Result<T> {
        let (parent, name) = parent_and_name(path)?;
        if let Err(Errno::NOENT) = self.folder.below(parent) {
            self.folder.create(parent)?;
        }
        let folder = self.folder.below(parent)?;
        match make(folder, name) {
            Err(Errno::EXIST) => {
                match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
                    Err(Errno::ISDIR | Errno::PERM) => {
                        rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?;
                    }
                    removed => removed?,
                }
                Ok(make(folder, name)?)
            }
            done => Ok(done?),
        }
    }

    /// Sets the permissions and times of directories, the deepest first.
    fn finish(mut self) -> Result<(), FilesError> {
        self.finish_later
            .sort_unstable_by(|one, other| other.0.cmp(&one.0));
        for (path, attributes) in &self.finish_later {
            let mut finish = || -> io::Result<()> {
                let folder = self.folder.below(path)?;
                rustix::fs::fchmod(folder, attributes.mode | Mode::RWXU)?;
                Ok(rustix::fs::futimens(folder, &times(attributes.modified))?)
            };
            finish().map_err(FilesError::io("set the permissions of", path))?;
        }
        Ok(())
    }
}

const COPY: usize = 64 << 10;

fn copy(content: &mut impl Read, file: &mut File, path: &Path) -> Result<(), FilesError> {
    use io::Write;
    let mut buffer = vec![0; COPY];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => file
                .write_all(&buffer[..read])
                .map_err(FilesError::io("write", path))?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(FilesError::Archive(error)),
        }
    }
}

fn attributes<R: Read>(entry: &mut Entry<'_, R>) -> Result<Attributes, FilesError> {
    let mut modified = Timespec {
        tv_sec: entry
            .header()
            .mtime()
            .ok()
            .and_then(|seconds| i64::try_from(seconds).ok())
            .unwrap_or(0),
        tv_nsec: 0,
    };
    let mode = entry.header().mode().map_err(FilesError::Archive)?;
    if let Some(extensions) = entry.pax_extensions().map_err(FilesError::Archive)? {
        for extension in extensions.flatten() {
            if extension.key() == Ok("mtime")
                && let Some(exact) = extension.value().ok().and_then(exact_time)
            {
                modified = exact;
            }
        }
    }
    Ok(Attributes {
        mode: Mode::from_raw_mode(mode & 0o777),
        modified,
    })
}

/// Parses `1763830000.25`.
fn exact_time(text: &str) -> Option<Timespec> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    let time = Timespec {
        tv_sec: seconds.parse().ok()?,
        tv_nsec: digits.parse().ok()?,
    };
    // Before 1970 the fraction would count down; such times are ignored.
    (time.tv_sec >= 0 && time.tv_nsec >= 0).then_some(time)
}

fn times(modified: Timespec) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: modified,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractional_times_are_read() {
        let check = |text, expect| {
            let time = exact_time(text).map(|time| (time.tv_sec, time.tv_nsec));
            assert_eq!(time, expect, "{text}");
        };
        check("12", Some((12, 0)));
        check("12.25", Some((12, 250_000_000)));
        check("12.1234567891", Some((12, 123_456_789)));
        check("-1.5", None);
        check("x", None);
        check("1.-5", None);
    }
}
