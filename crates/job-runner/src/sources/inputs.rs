//! Artifacts as lower layers of a job's overlay.

use super::method::Size;
use crate::artifacts::ArtifactStore;
use content_store::{EntryKind, LowerLayer, Tree};
use executor_core::Cancellation;
use executor_core::job::JobId;
use std::collections::HashSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The artifacts for a job, in ascending precedence.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) store: Option<Arc<dyn ArtifactStore>>,
    pub(crate) trees: Vec<(JobId, Arc<Tree>)>,
}

/// An artifact that is a layer of a job's directory.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) job: JobId,
    pub(crate) layer: LowerLayer,
}

/// The paths of the base below the artifacts.
#[derive(Debug, Default)]
pub(crate) struct BasePaths {
    pub(crate) directories: HashSet<PathBuf>,
    /// Files and links.
    pub(crate) others: HashSet<PathBuf>,
}

/// The largest number of layers; with more, each access of the job costs more than copying.
const MAX_LAYERS: usize = 16;

impl Inputs {
    /// Returns the size of all artifacts.
    pub(crate) fn size(&self) -> Size {
        let mut size = Size::default();
        for (_, tree) in &self.trees {
            let files = usize::try_from(tree.files()).unwrap_or(usize::MAX);
            size.files = size.files.saturating_add(files);
            size.bytes = size.bytes.saturating_add(tree.bytes());
        }
        size
    }

    /// Creates layers of the first artifacts that fit over `base`. The other artifacts, which have precedence,
    /// are copied into the job's directory later.
    pub(crate) async fn layers(&self, base: &BasePaths, cancellation: &Cancellation) -> Vec<Input> {
        let mut layers = Vec::new();
        let Some(store) = &self.store else {
            return layers;
        };
        if !self.size().is_worth_a_mount() {
            return layers;
        }
        let trees: Vec<&Tree> = self.trees.iter().map(|(_, tree)| &**tree).collect();
        let count = count_fitting(&trees, base);
        for (job, tree) in self.trees.iter().take(count) {
            match store.layer(tree, cancellation).await {
                Ok(layer) => layers.push(Input { job: *job, layer }),
                Err(error) => {
                    let error = &error as &dyn Error;
                    tracing::debug!(error, "An artifact cannot be a layer; it is copied.");
                    break;
                }
            }
        }
        layers
    }
}

/// Returns the number of trees whose overlay equals their copies.
///
/// A layer hides entries below it, but a copy never replaces a directory, or anything by a directory. Where
/// the two differ, the copy reports the error.
fn count_fitting(trees: &[&Tree], base: &BasePaths) -> usize {
    let mut directories: HashSet<&Path> = HashSet::new();
    let mut others: HashSet<&Path> = HashSet::new();
    for (count, tree) in trees.iter().take(MAX_LAYERS).enumerate() {
        let conflicts = |path: &Path, kind: &EntryKind| match kind {
            EntryKind::Directory { .. } => others.contains(path) || base.others.contains(path),
            _ => directories.contains(path) || base.directories.contains(path),
        };
        if tree
            .entries()
            .iter()
            .any(|it| conflicts(&it.path, &it.kind))
        {
            return count;
        }
        for entry in tree.entries() {
            let known = match entry.kind {
                EntryKind::Directory { .. } => &mut directories,
                _ => &mut others,
            };
            known.insert(&entry.path);
        }
    }
    trees.len().min(MAX_LAYERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use content_store::ContentStore;
    use std::fs;

    /// Makes a tree of files, and of links where the name begins with `@`.
    fn tree(paths: &[&str]) -> Tree {
        let root = tempfile::tempdir().expect("a directory");
        let from = root.path().join("from");
        let mut kept = Vec::new();
        for path in paths {
            let name = path.trim_start_matches('@');
            let file = from.join(name);
            fs::create_dir_all(file.parent().expect("a parent")).expect("made");
            if path.starts_with('@') {
                std::os::unix::fs::symlink("elsewhere", file).expect("linked");
            } else {
                fs::write(file, "x").expect("written");
            }
            kept.push(PathBuf::from(name));
        }
        let store = ContentStore::at(root.path().join("store"));
        let kept = store.keep(&from, &kept, &Cancellation::new());
        kept.expect("kept").tree().clone()
    }

    fn check(trees: &[&[&str]], expect: usize) {
        let trees: Vec<Tree> = trees.iter().map(|paths| tree(paths)).collect();
        let trees: Vec<&Tree> = trees.iter().collect();
        let owned = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        let base = BasePaths {
            directories: owned(&["", "src"]),
            others: owned(&["README", "link", "src/main"]),
        };
        assert_eq!(count_fitting(&trees, &base), expect, "{trees:?}");
    }

    #[test]
    fn tree_that_hides_other_kinds_is_not_a_layer() {
        check(&[], 0);
        check(&[&["src/made", "dist/a", "README"]], 1);
        check(&[&["dist/a"], &["dist/a", "dist/b"]], 2);
        // A directory where the tree has a link or a file, and a file where it has a directory.
        check(&[&["dist/a"], &["link/a"], &["dist/b"]], 1);
        check(&[&["src/main/a"]], 0);
        check(&[&["src"]], 0);
        check(&[&["@src"]], 0);
        // The same among artifacts.
        check(&[&["dist/a"], &["@dist"]], 1);
        check(&[&["dist"], &["dist/a"]], 1);
        check(&[&["a"][..]; MAX_LAYERS + 5], MAX_LAYERS);
    }
}
