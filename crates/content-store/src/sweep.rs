use crate::digest::Digest;
use crate::entry::EntryKind;
use crate::error::StoreError;
use crate::lock::lock_if_free;
use crate::store::{ContentStore, LAYERS, LOCK, OBJECTS, TMP, TREES};
use fail_point::fail_point;
use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Removed trees that were not live.
    pub trees: u64,
    /// Removed objects that no live tree refers to.
    pub objects: u64,
    /// Total size of the removed objects.
    pub bytes: u64,
    /// Removed layers that were not in use.
    pub layers: u64,
}

impl ContentStore {
    /// Removes trees outside `live`, objects that no live tree refers to, unused layers, and the leftovers
    /// of killed writers.
    ///
    /// `live` is called with the store locked exclusively, so that its answer covers every stored tree.
    /// Returns `None` without removing anything while the store is in use; a later sweep catches up.
    ///
    /// # Errors
    ///
    /// When `live` fails, or the store cannot be read or changed. Live trees are never removed.
    pub fn sweep(
        &self,
        live: impl FnOnce() -> io::Result<HashSet<Digest>>,
    ) -> Result<Option<Swept>, StoreError> {
        if !self.path().is_dir() {
            return Ok(Some(Swept::default()));
        }
        self.make()?;
        let Some(_alone) = lock_if_free(&self.directory(LOCK))? else {
            return Ok(None);
        };
        let live = live().map_err(StoreError::store("find what is needed", self.path()))?;
        let mut swept = Swept::default();
        self.remove_partials()?;
        self.remove_layers(&mut swept)?;
        let needed = self.remove_trees(&live, &mut swept)?;
        self.remove_objects(&needed, &mut swept)?;
        Ok(Some(swept))
    }

    /// Removes the leftovers of killed writers, unless the store is in use.
    ///
    /// # Errors
    ///
    /// When a leftover cannot be removed.
    pub fn recover(&self) -> Result<(), StoreError> {
        let tmp = self.directory(TMP);
        let is_clean = fs::read_dir(tmp).map_or(true, |mut found| found.next().is_none());
        if is_clean {
            return Ok(());
        }
        match lock_if_free(&self.directory(LOCK))? {
            Some(_alone) => self.remove_partials(),
            None => Ok(()),
        }
    }

    fn remove_partials(&self) -> Result<(), StoreError> {
        let tmp = self.directory(TMP);
        each_in(&tmp, |path, _| {
            let removed = fail_point!("content_store::sweep::partial", remove_all(path));
            removed.map_err(StoreError::store("remove", path))
        })
    }

    fn remove_layers(&self, swept: &mut Swept) -> Result<(), StoreError> {
        each_in(&self.directory(LAYERS), |path, _| {
            if lock_if_free(path)?.is_some() {
                let removed = fail_point!("content_store::sweep::layer", remove_all(path));
                removed.map_err(StoreError::store("remove", path))?;
                swept.layers += 1;
            }
            Ok(())
        })
    }

    /// Removes the trees that are not live, and returns the contents of the remaining ones.
    fn remove_trees(
        &self,
        live: &HashSet<Digest>,
        swept: &mut Swept,
    ) -> Result<HashSet<Digest>, StoreError> {
        let mut needed = HashSet::new();
        each_in(&self.directory(TREES), |path, name| {
            let digest = name.parse::<Digest>().ok();
            let tree = match digest.filter(|digest| live.contains(digest)) {
                Some(digest) => match self.tree(digest) {
                    // A damaged tree cannot be restored, so its objects are not needed.
                    Err(StoreError::Damaged { .. }) => None,
                    tree => Some(tree?),
                },
                None => None,
            };
            let Some(tree) = tree else {
                let removed = fail_point!("content_store::sweep::tree", fs::remove_file(path));
                removed.map_err(StoreError::store("remove", path))?;
                swept.trees += 1;
                return Ok(());
            };
            needed.extend(tree.entries().iter().filter_map(|it| match it.kind {
                EntryKind::File { content, .. } => Some(content),
                _ => None,
            }));
            Ok(())
        })?;
        Ok(needed)
    }

    fn remove_objects(
        &self,
        needed: &HashSet<Digest>,
        swept: &mut Swept,
    ) -> Result<(), StoreError> {
        each_in(&self.directory(OBJECTS), |shard, start| {
            each_in(shard, |path, rest| {
                let digest = format!("{start}{rest}").parse::<Digest>();
                if digest.is_ok_and(|digest| needed.contains(&digest)) {
                    return Ok(());
                }
                let size = fs::symlink_metadata(path).map_or(0, |it| it.len());
                let removed = fail_point!("content_store::sweep::object", fs::remove_file(path));
                removed.map_err(StoreError::store("remove", path))?;
                swept.objects += 1;
                swept.bytes += size;
                Ok(())
            })
        })
    }
}

/// Calls `work` with the path and the name of each entry.
fn each_in(
    directory: &Path,
    mut work: impl FnMut(&Path, &str) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let cannot = |error| StoreError::store("list", directory)(error);
    for entry in fs::read_dir(directory).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        work(&entry.path(), &entry.file_name().to_string_lossy())?;
    }
    Ok(())
}

/// Removes a file or a directory of the store, even if the mode of a directory denies access.
///
/// Plain paths are safe here, because only the store writes below its root.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    if !metadata.is_dir() {
        return fs::remove_file(path);
    }
    if metadata.permissions().mode() & 0o700 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    for entry in fs::read_dir(path)? {
        remove_all(&entry?.path())?;
    }
    fs::remove_dir(path)
}
