//! The file variables that the service removes.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::fs::{remove_dir, remove_file};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The last writer of each file. Requests with the same working directory share files.
#[derive(Debug, Default)]
pub(crate) struct Writers(Mutex<Owners>);

#[derive(Debug, Default)]
struct Owners {
    next: u64,
    of: BTreeMap<PathBuf, u64>,
}

/// The file variables of one request. Dropping this removes them, except those that a later request rewrote.
#[derive(Debug)]
pub(crate) struct VariableFiles {
    writers: Arc<Writers>,
    directory: PathBuf,
    paths: Vec<PathBuf>,
    own: u64,
}

impl VariableFiles {
    /// Takes over files in a directory. Call it before they are written.
    pub(crate) fn claim(writers: &Arc<Writers>, directory: &Path, paths: Vec<PathBuf>) -> Self {
        let mut owners = writers.lock();
        owners.next += 1;
        let own = owners.next;
        owners
            .of
            .extend(paths.iter().map(|path| (path.clone(), own)));
        drop(owners);
        Self {
            writers: Arc::clone(writers),
            directory: directory.to_owned(),
            paths,
            own,
        }
    }

    /// Removes the files, and their directory if it is empty and no other request is about to write there.
    pub(crate) fn remove(&self) {
        // Held until the end, so that no file is removed that another request claims meanwhile.
        let mut owners = self.writers.lock();
        let mut was_ours = false;
        for path in &self.paths {
            if owners.of.get(path) != Some(&self.own) {
                continue;
            }
            owners.of.remove(path);
            was_ours = true;
            match remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%error, path = %path.display(), "Could not remove a file variable.");
                }
                _ => {}
            }
        }
        let is_used = |path: &PathBuf| path.parent() == Some(&*self.directory);
        if was_ours && !owners.of.keys().any(is_used) {
            // This fails if it has other files.
            let _ = remove_dir(&self.directory);
        }
    }
}

impl Drop for VariableFiles {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Writers {
    fn lock(&self) -> MutexGuard<'_, Owners> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn written(writers: &Arc<Writers>, directory: &Path, names: &[&str]) -> VariableFiles {
        let paths: Vec<_> = names.iter().map(|name| directory.join(name)).collect();
        let files = VariableFiles::claim(writers, directory, paths.clone());
        fs::create_dir_all(directory).unwrap();
        for path in paths {
            fs::write(path, "secret").unwrap();
        }
        files
    }

    #[test]
    fn files_are_removed_with_their_request() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("build.tmp");
        let writers = Arc::default();
        let first = written(&writers, &directory, &["A", "BOTH"]);
        let second = written(&writers, &directory, &["B", "BOTH"]);
        let left = || -> Vec<String> {
            let names = fs::read_dir(&directory).unwrap();
            let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        };
        first.remove();
        drop(first);
        assert_eq!(left(), ["B", "BOTH"]);
        fs::write(directory.join("other"), "").unwrap();
        drop(second);
        assert_eq!(left(), ["other"]);
        remove_file(directory.join("other")).unwrap();
        // A request that has claimed a file, but not written it, keeps the directory.
        let third = written(&writers, &directory, &["C"]);
        let fourth = VariableFiles::claim(&writers, &directory, vec![directory.join("D")]);
        drop(third);
        assert_eq!(left(), [""; 0]);
        drop(fourth);
        assert!(!directory.exists());
        assert_eq!(writers.lock().of.len(), 0);
    }
}
