//! The state of a cgroup, read below its open directory.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::Errno;

/// A directory has two links of its own, and one for each subdirectory.
const OWN_LINKS: u64 = 2;

/// The persistent settings of a cgroup without controllers that can affect later processes, with their defaults.
///
/// A cgroup with a controller has many more such files, so it never counts as new.
const SETTINGS: [(&str, &str); 4] = [
    ("cgroup.controllers", ""),
    ("cgroup.type", "domain"),
    ("cgroup.max.depth", "max"),
    ("cgroup.max.descendants", "max"),
];

/// The files of a cgroup whose owners and modes control access to it.
const GUARDED: [&str; 9] = [
    "",
    "cgroup.procs",
    "cgroup.threads",
    "cgroup.kill",
    "cgroup.freeze",
    "cgroup.type",
    "cgroup.subtree_control",
    "cgroup.max.depth",
    "cgroup.max.descendants",
];

/// A cgroup's directory, the file that is read for each process, and the access to it when it was opened.
///
/// Other files are opened when they are read: open ones would use up the limit of a run with many jobs.
#[derive(Debug)]
pub(crate) struct CgroupState {
    directory: File,
    events: File,
    access: Access,
}

/// Owner, group and mode of each guarded file; `None` for a file that this kernel does not have.
type Access = [Option<(u32, u32, u32)>; GUARDED.len()];

impl CgroupState {
    /// Opens the cgroup at `path`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let directory = File::open(path)?;
        Ok(Self {
            events: open(&directory, "cgroup.events")?,
            access: access(&directory)?,
            directory,
        })
    }

    /// Returns the cgroup's directory.
    pub(crate) fn directory(&self) -> &File {
        &self.directory
    }

    /// Returns whether a process lives in the cgroup or below.
    pub(crate) fn is_populated(&self) -> io::Result<bool> {
        read_number(&self.events, "populated").map(|number| number != Some(0))
    }

    /// Returns whether the cgroup has no process and only `below` cgroups in it.
    pub(crate) fn is_empty(&self, below: usize) -> io::Result<bool> {
        let links = OWN_LINKS + below as u64;
        Ok(!self.is_populated()? && self.directory.metadata()?.nlink() == links)
    }

    /// Returns whether the cgroup is unchanged since its creation, except for `below` cgroups in it.
    ///
    /// A job can reach its own cgroup, and may have created cgroups or changed settings in it. These are
    /// compared instead of watched: ending an `inotify` takes the kernel as long as a whole small run.
    pub(crate) fn is_like_new(&self, below: usize) -> io::Result<bool> {
        if !self.is_empty(below)?
            || read_number(&self.events, "frozen")? != Some(0)
            || access(&self.directory)? != self.access
        {
            return Ok(false);
        }
        for (name, value) in SETTINGS {
            if read(&open(&self.directory, name)?)?.trim_end() != value {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn open(directory: &File, name: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::empty())?.into())
}

/// Reads owner and mode of the guarded files.
fn access(directory: &File) -> io::Result<Access> {
    let mut access = [None; GUARDED.len()];
    for (name, access) in GUARDED.iter().zip(&mut access) {
        *access = match statat(directory, *name, AtFlags::EMPTY_PATH) {
            Ok(stat) => Some((stat.st_uid, stat.st_gid, stat.st_mode)),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
    }
    Ok(access)
}

/// Reads the number after `name` in a file of pairs, one a line; `None` if it has none.
pub(crate) fn read_number(file: &File, name: &str) -> io::Result<Option<u64>> {
    Ok(number(&read(file)?, name))
}

/// Reads a file of a cgroup from its start; the files read here are far shorter than the buffer.
fn read(file: &File) -> io::Result<String> {
    let mut text = [0; 1024];
    let length = file.read_at(&mut text, 0)?;
    Ok(String::from_utf8_lossy(&text[..length]).into_owned())
}

fn number(text: &str, name: &str) -> Option<u64> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.find(|(key, _)| *key == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_whole_name() {
        let text = "low 0\noom 3\noom_kill 2\n";
        assert_eq!(number(text, "oom_kill"), Some(2));
        assert_eq!(number(text, "oom"), Some(3));
        assert_eq!(number(text, "kill"), None);
    }
}
