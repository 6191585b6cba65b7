//! `--executor custom`: a driver from the user's settings.

use crate::killed_runner::{assert_nothing_stays, cgroups, guardians, kill_9};
use crate::project::{Project, wait_until};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const PIPELINE: &str = "
job:
  script:
    - test -e .gitlab-ci.yml
    - date >kept
    - echo at work
    - sleep $NAP
  artifacts: {paths: [kept]}
";

/// Returns a project whose user has a driver that runs jobs on this host and leaves a daemon behind.
fn with_driver(marker: &str) -> Project {
    let project = Project::with_pipeline(PIPELINE);
    let driver = project.scratch().join("driver.sh");
    let text = format!(
        "#!/bin/sh\ncase $1 in\nprepare)\n\
         echo \"$CUSTOM_ENV_CI_RUNNER_ID-$CUSTOM_ENV_CI_JOB_ID ${{CUSTOM_ENV_CI_JOB_IMAGE-none}}\" >>{scratch}/prepared\n\
         MARK={marker} setsid sleep 600 >/dev/null 2>&1 & ;;\n\
         run) \"$2\" || exit 1 ;;\ncleanup) touch {scratch}/cleaned ;;\nesac\n",
        scratch = project.scratch().display()
    );
    fs::write(&driver, text).unwrap();
    fs::set_permissions(&driver, fs::Permissions::from_mode(0o755)).unwrap();
    let (driver, builds) = (driver.display(), project.scratch().join("builds"));
    let keys = ["prepare", "run", "cleanup"]
        .map(|phase| format!("{phase}-exec = \"{driver}\"\n{phase}-args = [\"{phase}\"]\n"));
    let settings = format!(
        "[custom]\nbuilds-dir = \"{}\"\n{}",
        builds.display(),
        keys.concat()
    );
    fs::create_dir_all(project.home()).unwrap();
    fs::write(project.home().join("config.toml"), settings).unwrap();
    project
}

#[test]
fn driver_runs_a_job_and_is_cleaned_up() {
    // R-EXEC-02
    let project = with_driver("custom-done");
    let run = ["run", "--executor", "custom", "--variable", "NAP=0"];
    project
        .runwright(&run)
        .expect_code(0)
        .expect_text("at work");
    assert!(project.scratch().join("cleaned").exists());
    assert_nothing_stays(&project, "custom-done", &[]);
    let artifacts = project.runwright(&["artifacts"]).expect_code(0);
    assert!(
        artifacts.stdout.contains("job  archive"),
        "{}",
        artifacts.stdout
    );
}

#[test]
fn names_of_drivers_differ_between_projects_and_images_are_theirs() {
    let prepared = |marker: &str| {
        let project = with_driver(marker);
        let pipeline =
            "plain: {script: [echo]}\nboxed: {needs: [plain], image: debian, script: [echo]}\n";
        project.write(".gitlab-ci.yml", pipeline);
        let done = project.runwright(&["run", "--executor", "custom"]);
        let done = done.expect_code(0);
        assert!(!done.stderr.contains("container engine"), "{}", done.stderr);
        let notes = fs::read_to_string(project.scratch().join("prepared")).unwrap();
        let notes = notes
            .lines()
            .map(|line| line.split_once(' ').unwrap())
            .map(|(name, image)| (name.to_owned(), image.to_owned()));
        notes.unzip::<_, _, Vec<_>, Vec<_>>()
    };
    let (names, images) = prepared("custom-first");
    let (others, _) = prepared("custom-second");
    assert_eq!(images, ["none", "debian"]);
    for name in names {
        assert!(!others.contains(&name), "{name} in {others:?}");
    }
}

#[test]
fn driver_of_a_killed_runner_is_ended() {
    let marker = "MARK=custom-killed";
    let project = with_driver("custom-killed");
    let run = ["run", "--executor", "custom", "--variable", "NAP=600"];
    let mut child = project.start(&run);
    project.wait_for("at work");
    wait_until("the guardian", || !guardians(&project).is_empty());
    let cgroups = cgroups(&project);
    kill_9(&[child.id()]);
    child.wait().unwrap();
    assert_nothing_stays(&project, marker, &cgroups);
    assert!(
        !project.scratch().join("cleaned").exists(),
        "it cannot be called any more"
    );
}

#[test]
fn missing_driver_is_refused_with_the_key() {
    let project = Project::with_pipeline(PIPELINE);
    let refused = project.runwright(&["run", "--executor", "custom"]);
    let refused = refused.expect_code(2);
    assert!(
        refused.stderr.contains("the custom executor has no driver"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("`run-exec` in section [custom]"),
        "{}",
        refused.stderr
    );
}
