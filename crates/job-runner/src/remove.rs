//! Removing the directories of a finished job.

use fail_point::fail_point;
use std::fs;
use std::io;
use std::path::Path;

/// Removes a job's temporary directory, its project where that is not to stay, and the parents
/// below `builds` that this leaves empty.
pub(crate) fn build(temp: &Path, project: Option<&Path>, builds: &Path) -> io::Result<()> {
    let removed = project
        .map_or(Ok(()), |project| {
            fail_point!("job_runner::remove::project", process::remove_tree(project))
        })
        .and(fail_point!(
            "job_runner::remove::temp",
            process::remove_tree(temp)
        ));
    let parents = temp.ancestors().skip(1);
    for parent in parents.take_while(|parent| *parent != builds && parent.starts_with(builds)) {
        // Another job has its build there too, or the directory is not ours to remove.
        if fail_point!("job_runner::remove::parent", fs::remove_dir(parent)).is_err() {
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
        build(&temp, Some(&project), &builds).expect("removed");
        assert!(builds.join("a/keep").exists());
        assert!(!builds.join("a/b").exists());
    }
}
