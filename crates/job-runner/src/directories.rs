//! The directories of a job, and their removal after it.

use fail_point::fail_point;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory of a job's sources, by the runner's path and by the scripts' path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobDirectory {
    /// The path for the runner.
    pub(crate) host: PathBuf,
    /// The path in scripts, patterns and messages.
    pub(crate) named: PathBuf,
}

impl JobDirectory {
    /// Returns a directory with one path for the runner and the scripts.
    #[cfg(test)]
    pub(crate) fn local(path: &Path) -> Self {
        Self {
            host: path.to_owned(),
            named: path.to_owned(),
        }
    }

    /// Returns the runner's path of a file in it.
    pub(crate) fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.host.join(path)
    }
}

/// Removes a job's temporary directory, its project if given, and the parents below `builds` that are
/// then empty.
pub(crate) fn remove_build(temp: &Path, project: Option<&Path>, builds: &Path) -> io::Result<()> {
    if remove_links(temp, builds)? {
        // The job moved its files; they are removed with the whole builds directory.
        return Ok(());
    }
    let removed = project
        .map_or(Ok(()), |project| {
            fail_point!(
                "job_runner::remove::project",
                process::remove_job_tree(project)
            )
        })
        .and(fail_point!(
            "job_runner::remove::temp",
            process::remove_job_tree(temp)
        ));
    remove_empty_parents(temp, builds);
    removed
}

/// What happens to the empty parents of a removed directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parents {
    /// They are removed too.
    Removed,
    /// They are kept, because the environment relies on them.
    Kept,
}

/// Removes a job's project, but follows no link among its parents.
pub(crate) fn remove_project(project: &Path, builds: &Path, parents: Parents) -> io::Result<()> {
    if remove_links(project, builds)? {
        return Ok(());
    }
    let removed = fail_point!(
        "job_runner::remove::project",
        process::remove_job_tree(project)
    );
    if parents == Parents::Removed {
        remove_empty_parents(project, builds);
    }
    removed
}

/// Removes the directories between `builds` and `path` that are empty.
fn remove_empty_parents(path: &Path, builds: &Path) {
    let parents = path.ancestors().skip(1);
    for parent in parents.take_while(|parent| *parent != builds && parent.starts_with(builds)) {
        // Another job uses the directory, or it cannot be removed.
        if fail_point!("job_runner::remove::parent", fs::remove_dir(parent)).is_err() {
            break;
        }
    }
}

/// Removes links in place of directories between `builds` and `temp`, and returns whether there were any.
///
/// A job may have created them, and they may lead to files that are not the job's.
fn remove_links(temp: &Path, builds: &Path) -> io::Result<bool> {
    let mut found = false;
    for parent in temp.ancestors().skip(1) {
        if parent == builds || !parent.starts_with(builds) {
            break;
        }
        if fs::symlink_metadata(parent).is_ok_and(|it| it.is_symlink()) {
            fs::remove_file(parent)?;
            found = true;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_parents_are_removed() {
        let root = tempfile::tempdir().expect("a directory");
        let builds = root.path().join("builds");
        let project = builds.join("a/b/c/project");
        let temp = builds.join("a/b/c/project.tmp");
        fs::create_dir_all(project.join("src")).expect("made");
        fs::create_dir_all(&temp).expect("made");
        fs::write(builds.join("a/keep"), "x").expect("written");
        remove_build(&temp, Some(&project), &builds).expect("removed");
        assert!(builds.join("a/keep").exists());
        assert!(!builds.join("a/b").exists());
    }

    #[test]
    fn project_is_removed_with_or_without_its_parents() {
        let root = tempfile::tempdir().expect("a directory");
        let builds = root.path().join("builds");
        let there = builds.join("a/b/project");
        let check = |parents, expect| {
            fs::create_dir_all(there.join("src")).expect("made");
            remove_project(&there, &builds, parents).expect("removed");
            assert!(!there.exists());
            assert_eq!(builds.join("a").exists(), expect, "{parents:?}");
            assert!(builds.exists());
        };
        check(Parents::Kept, true);
        check(Parents::Removed, false);
    }

    #[test]
    fn link_among_the_parents_is_removed_but_not_followed() {
        let root = tempfile::tempdir().expect("a directory");
        let (builds, theirs) = (root.path().join("builds"), root.path().join("theirs"));
        fs::create_dir_all(builds.join("a")).expect("made");
        fs::create_dir_all(theirs.join("project")).expect("made");
        std::os::unix::fs::symlink(&theirs, builds.join("a/b")).expect("linked");
        let project = builds.join("a/b/project");
        remove_build(&builds.join("a/b/project.tmp"), Some(&project), &builds).expect("removed");
        assert!(theirs.join("project").exists());
        assert!(fs::symlink_metadata(builds.join("a/b")).is_err());
    }
}
