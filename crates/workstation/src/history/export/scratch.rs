use super::error::ExportError;
use fail_point::fail_point;
use process::make_private_dir_all;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A directory for incomplete files; removed when dropped, or by the next process if this one is killed.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    /// Locked while this process uses the directory.
    _lock: File,
}

impl Scratch {
    /// Creates one in the directory `root`.
    pub(super) fn new(root: &Path) -> Result<Self, ExportError> {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        let made = fail_point!("workstation::export::make_root", make_private_dir_all(root));
        made.map_err(ExportError::io("create", root))?;
        // Another process must not remove this directory before it is locked.
        let root_lock = File::open(root).and_then(|it| it.lock().map(|()| it));
        let _root_lock = root_lock.map_err(ExportError::io("lock", root))?;
        sweep(root);
        let path = root.join(std::process::id().to_string());
        let made = fail_point!("workstation::export::make_scratch", builder.create(&path));
        made.map_err(ExportError::io("create", &path))?;
        let lock = File::open(&path).and_then(|it| Ok(it.try_lock().map(|()| it)?));
        let lock = lock.map_err(ExportError::io("lock", &path))?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If it stays, the next process removes it.
        let _ = fail_point!(
            "workstation::export::remove_scratch",
            fs::remove_dir_all(&self.path)
        );
    }
}

/// Removes the directories of killed processes.
pub(crate) fn sweep(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_unused = File::open(&path).is_ok_and(|directory| directory.try_lock().is_ok());
        if is_unused {
            // If it stays, the next process removes it.
            let _ = fail_point!("workstation::export::sweep", fs::remove_dir_all(&path));
        }
    }
}
