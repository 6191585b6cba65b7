//! Removing the directories of a finished job.

use fail_point::fail_point;
use std::fs;
use std::io;
use std::path::Path;

/// Removes a job's temporary directory, its project where that is not to stay, and the parents
/// below `builds` that this leaves empty.
pub(crate) fn build(temp: &Path, project: Option<&Path>, builds: &Path) -> io::Result<()> {
    if remove_links(temp, builds)? {
        // What was there is elsewhere now, and goes with all builds.
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
    empty_parents(temp, builds);
    removed
}

/// What becomes of the empty directories around one that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parents {
    /// They go too.
    Removed,
    /// They stay: somebody relies on them.
    Kept,
}

/// Removes a job's project, and nothing that links around it lead to.
pub(crate) fn project(project: &Path, builds: &Path, parents: Parents) -> io::Result<()> {
    if remove_links(project, builds)? {
        return Ok(());
    }
    let removed = fail_point!(
        "job_runner::remove::project",
        process::remove_job_tree(project)
    );
    if parents == Parents::Removed {
        empty_parents(project, builds);
    }
    removed
}

/// Removes the directories between `builds` and `path` that are empty.
fn empty_parents(path: &Path, builds: &Path) {
    let parents = path.ancestors().skip(1);
    for parent in parents.take_while(|parent| *parent != builds && parent.starts_with(builds)) {
        // Another job has its build there too, or the directory is not ours to remove.
        if fail_point!("job_runner::remove::parent", fs::remove_dir(parent)).is_err() {
            break;
        }
    }
}

/// Removes links in the place of directories between `builds` and `temp`, and returns whether there
/// were any: a job could have put them there, and they lead to what is not ours.
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

    #[test]
    fn a_project_goes_alone_or_with_its_empty_parents() {
        let root = tempfile::tempdir().expect("a directory");
        let builds = root.path().join("builds");
        let there = builds.join("a/b/project");
        let check = |parents, expect| {
            fs::create_dir_all(there.join("src")).expect("made");
            project(&there, &builds, parents).expect("removed");
            assert!(!there.exists());
            assert_eq!(builds.join("a").exists(), expect, "{parents:?}");
            assert!(builds.exists());
        };
        check(Parents::Kept, true);
        check(Parents::Removed, false);
    }

    #[test]
    fn a_link_in_the_place_of_a_parent_goes_and_what_it_leads_to_stays() {
        let root = tempfile::tempdir().expect("a directory");
        let (builds, theirs) = (root.path().join("builds"), root.path().join("theirs"));
        fs::create_dir_all(builds.join("a")).expect("made");
        fs::create_dir_all(theirs.join("project")).expect("made");
        std::os::unix::fs::symlink(&theirs, builds.join("a/b")).expect("linked");
        let project = builds.join("a/b/project");
        build(&builds.join("a/b/project.tmp"), Some(&project), &builds).expect("removed");
        assert!(theirs.join("project").exists());
        assert!(fs::symlink_metadata(builds.join("a/b")).is_err());
    }
}
