//! Removing the directories of a finished job.

use std::fs;
use std::io;
use std::path::Path;

/// Removes `project` and its temporary directory, and the parents below `builds` that this leaves
/// empty.
pub(crate) fn build(project: &Path, temp: &Path, builds: &Path) -> io::Result<()> {
    let removed = process::remove_tree(project).and(process::remove_tree(temp));
    let parents = project.ancestors().skip(1);
    for parent in parents.take_while(|parent| *parent != builds && parent.starts_with(builds)) {
        // Another job has its build there too, or the directory is not ours to remove.
        if fs::remove_dir(parent).is_err() {
            break;
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_parents_go_with_the_build() {
        let root = tempfile::tempdir().expect("a directory");
        let builds = root.path().join("builds");
        let project = builds.join("a/b/c/project");
        let temp = builds.join("a/b/c/project.tmp");
        fs::create_dir_all(project.join("src")).expect("made");
        fs::create_dir_all(&temp).expect("made");
        fs::write(builds.join("a/keep"), "x").expect("written");
        build(&project, &temp, &builds).expect("removed");
        assert!(builds.join("a/keep").exists());
        assert!(!builds.join("a/b").exists());
    }
}
