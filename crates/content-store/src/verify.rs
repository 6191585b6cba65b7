use crate::digest::Digest;
use crate::entry::EntryKind;
use crate::error::StoreError;
use crate::store::{ContentStore, OBJECTS, object_path};
use crate::tree::Tree;
use std::fs::File;
use std::io;

impl ContentStore {
    /// Checks that each content of a tree matches its digest.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] for the first content that does not match.
    pub fn verify(&self, tree: &Tree) -> Result<(), StoreError> {
        for entry in tree.entries() {
            let EntryKind::File { content, .. } = entry.kind else {
                continue;
            };
            let path = self.directory(OBJECTS).join(object_path(content));
            let mut hasher = blake3::Hasher::new();
            let read = File::open(&path).and_then(|mut file| io::copy(&mut file, &mut hasher));
            read.map_err(StoreError::store("read", &path))?;
            if Digest::of_hasher(&hasher) != content {
                return Err(StoreError::Damaged {
                    path,
                    reason: "it has another digest than its name".to_owned(),
                });
            }
        }
        Ok(())
    }
}
