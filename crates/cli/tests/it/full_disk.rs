//! The disk that holds the state is full, and later has space again.

#![expect(clippy::disallowed_methods, reason = "the tests mount a disk")]

use crate::project::{Project, files_below};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A project whose state is on a file system of 2 MiB.
struct SmallHome {
    project: Project,
}

impl SmallHome {
    /// Mounts it; returns `None` where that is not allowed.
    fn with_pipeline(pipeline: &str) -> Option<Self> {
        let project = Project::with_pipeline(pipeline);
        fs::create_dir(project.home()).unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], &project.home());
        if !mounted {
            executor_testkit::not_tested("a full disk", "mounting one needs root");
        }
        mounted.then_some(Self { project })
    }

    /// Fills the remaining space.
    fn fill(&self) -> PathBuf {
        let path = self.project.home().join("full");
        let mut file = fs::File::create(&path).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        path
    }

    fn assert_nothing_left(&self) {
        let left = self.project.leftovers();
        assert!(left.is_empty(), "{left:?}");
        let files = files_below(&self.project.home());
        // A partial object of the store, or another partial file.
        let partial = |path: &&PathBuf| {
            let is_tmp = path.parent().is_some_and(|parent| parent.ends_with("tmp"));
            is_tmp || path.display().to_string().contains("partial")
        };
        assert_eq!(files.iter().find(partial), None);
    }
}

impl Drop for SmallHome {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(self.project.home()).status();
        assert!(status.unwrap().success(), "the disk stays mounted");
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    let output = Command::new("mount").args(arguments).arg(at).output();
    output.is_ok_and(|output| output.status.success())
}

const FULL: &str = "No space left on device";

#[test]
fn log_that_fills_the_disk_is_cut_and_its_job_continues() {
    // fault 21
    let Some(home) = SmallHome::with_pipeline(
        "flood:\n  script: [\"head -c 8000000 /dev/zero | tr '\\\\0' x | fold\", echo the-end]
  after_script: [echo after]\nnext:\n  script: [echo next]\n",
    ) else {
        return;
    };
    let done = home.project.runwright(&["run", "flood"]).expect_code(0);
    let count = done.stdout.matches("the log file ends here").count();
    assert_eq!(count, 1, "{}", done.stderr);
    let done = done.expect_text(FULL).expect_text("flood | the-end");
    done.expect_text("flood | after");
    home.assert_nothing_left();

    // The old log still occupies the space.
    home.fill();
    let done = home.project.runwright(&["run", "next"]).expect_code(3);
    done.expect_text(FULL);
    home.assert_nothing_left();

    assert!(mount(&["-o", "remount,size=64m"], &home.project.home()));
    home.project.runwright(&["run", "next"]).expect_code(0);
    home.assert_nothing_left();
}

#[test]
fn job_that_fills_the_disk_releases_the_space() {
    // fault 22
    let Some(home) = SmallHome::with_pipeline(
        "hog:\n  script: [cat /dev/zero >fill || echo is-full]\n  artifacts: {paths: [fill]}
next:\n  script: [echo next]\n",
    ) else {
        return;
    };
    let done = home.project.runwright(&["run", "hog"]).expect_code(3);
    let done = done.expect_text("hog | is-full");
    done.expect_text("keep artifacts: write ").expect_text(FULL);
    home.assert_nothing_left();
    home.project.runwright(&["run", "next"]).expect_code(0);
}

#[test]
fn cache_that_fills_the_disk_is_not_saved_and_the_old_one_stays() {
    // fault 22
    let Some(home) = SmallHome::with_pipeline(
        "job:
  cache: {key: kept, paths: [kept]}
  script:
    - wc -c <kept/file || echo nothing-kept
    - mkdir -p kept && head -c $SIZE /dev/urandom >kept/file
    - echo it-ended
",
    ) else {
        return;
    };
    let run = |size: &str| {
        let size = format!("SIZE={size}");
        let done = home.project.runwright(&["run", "--variable", &size]);
        let done = done.expect_code(0).expect_text("it-ended");
        home.assert_nothing_left();
        done
    };
    run("100000").expect_text("nothing-kept");
    // The file fits on the disk, but not together with its archive.
    let done = run("1100000").expect_text("job | 100000\n");
    let done = done.expect_text("WARNING: ").expect_text(FULL);
    done.expect_text("job | success");
    let done = run("1000").expect_text("job | 100000\n");
    assert!(!done.all().contains(FULL), "{done:?}");
    run("1000").expect_text("job | 1000\n");
}

#[test]
fn run_does_not_start_without_space() {
    let Some(home) = SmallHome::with_pipeline("job:\n  script: [echo ran]\n") else {
        return;
    };
    home.project.runwright(&["run"]).expect_code(0);
    let full = home.fill();
    let done = home.project.runwright(&["run"]).expect_code(3);
    let done = done.expect_text("error: prepare to run processes: journal ");
    assert!(!done.expect_text(FULL).all().contains("job | "));
    fs::remove_file(full).unwrap();
    home.project.runwright(&["run"]).expect_code(0);
    home.assert_nothing_left();
}

#[test]
fn events_are_recorded_once_a_full_disk_has_space_again() {
    let Some(home) = SmallHome::with_pipeline(
        "job:\n  script: [echo in-script, 'until test -e \"$FLAG\"; do sleep 0.02; done', echo ran]\n",
    ) else {
        return;
    };
    let flag = home.project.scratch().join("flag");
    let variable = format!("FLAG={}", flag.display());
    let run = home.project.start(&["run", "--variable", &variable]);
    home.project.wait_for("job | in-script");
    let full = home.fill();
    fs::write(flag, "").unwrap();
    let done = crate::project::Done::from(run.wait_with_output().unwrap());
    assert_eq!(done.code, Some(0), "the job goes on: {done:?}");
    fs::remove_file(full).unwrap();
    // Removing the build directory freed the space for the final records.
    let done = home.project.runwright(&["history"]).expect_code(0);
    assert!(done.expect_text("success").stderr.is_empty());
    home.assert_nothing_left();
}
