//! What the kernel tells of a group, read without looking up its path again.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// A directory has two links of its own, and one for each directory in it.
const OWN_LINKS: u64 = 2;

/// The files of a group that are read again and again, kept open.
#[derive(Debug)]
pub(crate) struct GroupState {
    directory: File,
    events: File,
}

impl GroupState {
    /// Opens the files of the group at `path`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            directory: File::open(path)?,
            events: File::open(path.join("cgroup.events"))?,
        })
    }

    /// Returns the group's directory.
    pub(crate) fn directory(&self) -> &File {
        &self.directory
    }

    /// Returns whether something lives in the group or below.
    pub(crate) fn is_populated(&self) -> io::Result<bool> {
        read_number(&self.events, "populated").map(|number| number != Some(0))
    }

    /// Returns whether the group is as empty as when it was made, but for `below` groups in it.
    ///
    /// A job can reach its own group, and may have made groups in it; what it may have set there is
    /// for a [`GroupWatch`](crate::group_watch::GroupWatch) to see.
    pub(crate) fn is_like_new(&self, below: usize) -> io::Result<bool> {
        let events = read(&self.events)?;
        let is_zero = |name| number(&events, name) == Some(0);
        let links = OWN_LINKS + below as u64;
        Ok(
            is_zero("populated")
                && is_zero("frozen")
                && self.directory.metadata()?.nlink() == links,
        )
    }
}

/// Reads the number after `name` in a file of such pairs, one a line; `None` if it is not there.
pub(crate) fn read_number(file: &File, name: &str) -> io::Result<Option<u64>> {
    Ok(number(&read(file)?, name))
}

/// Reads a file of a group from its beginning; those read here are far shorter than the buffer.
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
