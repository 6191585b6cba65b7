use super::Sources;
use git::GitDir;
use std::fs;
use std::path::{Path, PathBuf};

/// The largest number of object directories that one repository refers to.
const MAX_DIRECTORIES: usize = 64;
/// The deepest nesting of submodules.
const MAX_DEPTH: usize = 8;

impl Sources {
    /// Returns the paths of this host that git reads in jobs, besides their own directories: parts of the
    /// user's repository.
    ///
    /// See [`RunnerConfig::host_reads`](executor_core::RunnerConfig::host_reads).
    pub fn host_reads(&self) -> Vec<PathBuf> {
        match self {
            Self::Snapshot(snapshot) => objects_of(snapshot.root()),
            Self::Worktree(worktree) => {
                let common = GitDir::at(worktree.root()).map(|it| it.common);
                common.into_iter().map(real).collect()
            }
            Self::InPlace(root) => {
                // The repository of a worktree is outside of it.
                let common = GitDir::at(root).map(|it| real(it.common));
                let root = real(root.clone());
                common
                    .into_iter()
                    .filter(|it| !it.starts_with(&root))
                    .collect()
            }
            Self::Git(_) | Self::None => Vec::new(),
        }
    }
}

/// Returns the object directories of a repository and its submodules.
fn objects_of(root: &Path) -> Vec<PathBuf> {
    let Some(git_dir) = GitDir::at(root) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    add(&git_dir.common.join("objects"), &mut found);
    add_below(&git_dir.common.join("modules"), MAX_DEPTH, &mut found);
    found
}

/// Adds an object directory and its alternates.
fn add(objects: &Path, found: &mut Vec<PathBuf>) {
    let objects = real(objects.to_owned());
    if found.len() >= MAX_DIRECTORIES || found.contains(&objects) || !objects.is_dir() {
        return;
    }
    let alternates = fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
    found.push(objects.clone());
    for line in alternates.lines().filter(|line| !line.starts_with('#')) {
        add(&objects.join(line), found);
    }
}

/// Adds the objects of the repositories below `directory`, where git keeps those of submodules.
fn add_below(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if !entry.file_type().is_ok_and(|it| it.is_dir()) {
            continue;
        }
        if path.join("HEAD").is_file() {
            add(&path.join("objects"), found);
            add_below(&path.join("modules"), depth.saturating_sub(1), found);
        } else if depth > 0 {
            add_below(&path, depth - 1, found);
        }
    }
}

fn real(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::{Snapshot, Worktree};
    use std::sync::Arc;

    #[test]
    fn alternates_and_submodules_are_found() {
        let root = tempfile::tempdir().expect("a directory");
        let root = real(root.path().to_owned());
        let tree = root.join("tree");
        for directory in [
            "tree/.git/objects/info",
            "tree/.git/modules/lib/objects",
            "tree/.git/modules/deep/er/objects",
            "other/objects",
        ] {
            fs::create_dir_all(root.join(directory)).expect("made");
        }
        for head in [
            "tree/.git/HEAD",
            "tree/.git/modules/lib/HEAD",
            "tree/.git/modules/deep/er/HEAD",
        ] {
            fs::write(root.join(head), "ref: refs/heads/main\n").expect("written");
        }
        let other = root.join("other/objects");
        let alternates = format!("{}\n../../../gone\n", other.display());
        fs::write(root.join("tree/.git/objects/info/alternates"), alternates).expect("written");
        let mut found = Sources::Snapshot(Arc::new(Snapshot::new(&tree, &root))).host_reads();
        found.sort();
        let mut expect = [
            other,
            tree.join(".git/objects"),
            tree.join(".git/modules/lib/objects"),
            tree.join(".git/modules/deep/er/objects"),
        ];
        expect.sort();
        assert_eq!(found, expect);
        let worktree = Sources::Worktree(Arc::new(Worktree::new(&tree)));
        assert_eq!(worktree.host_reads(), [tree.join(".git")]);
        assert!(Sources::InPlace(tree).host_reads().is_empty());
        assert!(Sources::None.host_reads().is_empty());
    }
}
