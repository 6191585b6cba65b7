use super::Sources;
use git::GitDir;
use std::fs;
use std::path::{Path, PathBuf};

/// So many directories of objects one repository refers to at most.
const MOST: usize = 64;
/// So deep submodules may lie in each other.
const DEEPEST: usize = 8;

impl Sources {
    /// Returns the paths of this host that the files of jobs refer to, besides their own directories: what
    /// git reads of the user's repository when a job asks it something.
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
                // A working tree of its own has its repository elsewhere.
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

/// Returns where the objects of a repository and of its submodules are.
fn objects_of(root: &Path) -> Vec<PathBuf> {
    let Some(git_dir) = GitDir::at(root) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    add(&git_dir.common.join("objects"), &mut found);
    below(&git_dir.common.join("modules"), DEEPEST, &mut found);
    found
}

/// Adds a directory of objects, and those that it borrows from.
fn add(objects: &Path, found: &mut Vec<PathBuf>) {
    let objects = real(objects.to_owned());
    if found.len() >= MOST || found.contains(&objects) || !objects.is_dir() {
        return;
    }
    let alternates = fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
    found.push(objects.clone());
    for line in alternates.lines().filter(|line| !line.starts_with('#')) {
        add(&objects.join(line), found);
    }
}

/// Adds the objects of the repositories below `directory`, where git keeps those of submodules.
fn below(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
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
            below(&path.join("modules"), depth.saturating_sub(1), found);
        } else if depth > 0 {
            below(&path, depth - 1, found);
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
    fn objects_are_found_with_what_they_borrow_and_those_of_submodules() {
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
