//! Jobs that damage their working directory, and the jobs that run there after them.

use crate::isolation::needs_root;
use crate::project::{Project, mounts_below};
use std::fs;

/// The second job: it must find the project's files, in its own directory.
const AFTER: &str = "
after:
  needs: [nasty]
  script: [test -f kept, pwd -P]
";

/// Runs a job and another one after it in the same directory, with each isolation.
fn check(name: &str, script: &str) {
    let theirs = tempfile::tempdir().unwrap();
    fs::create_dir_all(theirs.path().join("local/project")).unwrap();
    fs::write(theirs.path().join("local/project/file"), "theirs").unwrap();
    let script = script.replace("THEIRS", theirs.path().to_str().unwrap());
    let pipeline = format!("nasty:\n  script:\n    - '{script}'\n{AFTER}");
    let project = Project::with_pipeline(&pipeline);
    project.write("kept", "x");
    project.write("directory/file", "x");
    project.commit();
    let home = project.home();
    for means in [
        ["--snapshot", "overlay"],
        ["--snapshot", "copy"],
        ["--isolation", "worktree"],
    ] {
        let arguments = ["run", "--concurrency", "1", means[0], means[1]];
        let done = project.runwright(&arguments).expect_code(0);
        let real = fs::canonicalize(&home).unwrap();
        let place = format!("after | {}", real.display());
        assert!(done.stdout.contains(&place), "{name}: {}", done.stdout);
        assert_eq!(mounts_below(&home), Vec::<String>::new(), "{name}");
        assert_eq!(
            project.leftovers(),
            Vec::<std::path::PathBuf>::new(),
            "{name}"
        );
        let theirs = theirs.path().join("local/project/file");
        assert_eq!(fs::read_to_string(theirs).unwrap(), "theirs", "{name}");
    }
}

#[test]
fn mounts_of_a_job_are_removed_with_it() {
    if !needs_root("mounts of jobs") {
        return;
    }
    check("inside", "mkdir m; mount -t tmpfs none m; touch m/file");
    check("a bind mount", "mount --bind THEIRS directory");
    check("on itself", "mount -t tmpfs none \"$PWD\"");
}

#[test]
fn directories_replaced_by_links_are_not_followed() {
    if !needs_root("links in the place of what is mounted") {
        return;
    }
    let parent = "cd ../.. && mv local elsewhere && ln -s THEIRS/local local";
    check("a parent", parent);
    let itself =
        "d=\"$PWD\"; cd ..; rm -rf \"$d\" || true; ln -sfn THEIRS/local/project \"$d\" || true";
    check("itself", itself);
}
