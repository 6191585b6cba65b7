//! Small tar archives for uploads into a container.

use crate::error::DockerError;
use std::io;
use std::path::{Component, Path};
use tar::{Builder, EntryType, Header};

/// The owner of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// A builder of an archive. Paths are relative to the directory of the upload.
pub(crate) struct Tree {
    archive: Builder<Vec<u8>>,
    owner: Owner,
}

impl Tree {
    /// Returns an empty archive whose entries belong to `owner`.
    pub(crate) fn new(owner: Owner) -> Self {
        Self {
            archive: Builder::new(Vec::new()),
            owner,
        }
    }

    /// Adds a directory and its parents.
    pub(crate) fn directory(&mut self, path: &str, mode: u32) -> Result<(), DockerError> {
        let mut above = String::new();
        for part in Path::new(path).components() {
            if let Component::Normal(part) = part {
                above.push_str(&part.to_string_lossy());
                above.push('/');
                self.append(&above, EntryType::Directory, mode, &[])?;
            }
        }
        Ok(())
    }

    /// Adds a directory without its parents.
    pub(crate) fn only_directory(&mut self, path: &str, mode: u32) -> Result<(), DockerError> {
        self.append(&format!("{path}/"), EntryType::Directory, mode, &[])
    }

    /// Adds a file.
    pub(crate) fn file(
        &mut self,
        path: &str,
        mode: u32,
        content: &[u8],
    ) -> Result<(), DockerError> {
        self.append(path, EntryType::Regular, mode, content)
    }

    /// Returns the bytes of the archive.
    pub(crate) fn finish(self) -> Result<Vec<u8>, DockerError> {
        self.archive.into_inner().map_err(failed)
    }

    fn append(
        &mut self,
        path: &str,
        kind: EntryType,
        mode: u32,
        content: &[u8],
    ) -> Result<(), DockerError> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(self.owner.uid.into());
        header.set_gid(self.owner.gid.into());
        header.set_size(content.len() as u64);
        let appended = self.archive.append_data(&mut header, path, content);
        appended.map_err(failed)
    }
}

fn failed(source: io::Error) -> DockerError {
    DockerError::Config {
        message: "pack files for the container".to_owned(),
        source: Some(source.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_entries_belong_to_the_owner() {
        let mut tree = Tree::new(Owner { uid: 7, gid: 8 });
        tree.directory("/group/app", 0o755).unwrap();
        tree.file("x.tmp/KEY", 0o600, b"secret").unwrap();
        let bytes = tree.finish().unwrap();
        let mut archive = tar::Archive::new(&*bytes);
        let entries = archive.entries().unwrap().map(Result::unwrap);
        let found: Vec<_> = entries
            .map(|entry| {
                let header = entry.header();
                let path = entry.path().unwrap().display().to_string();
                (
                    path,
                    header.mode().unwrap(),
                    header.uid().unwrap(),
                    header.gid().unwrap(),
                )
            })
            .collect();
        let expect = [
            ("group/", 0o755),
            ("group/app/", 0o755),
            ("x.tmp/KEY", 0o600),
        ];
        let expect = expect.map(|(path, mode)| (path.to_owned(), mode, 7, 8));
        assert_eq!(found, expect);
    }
}
