//! Resource groups across runs of the binary.

use crate::killed_runner::guardians;
use crate::project::{Project, files_below, processes_with, wait_until};
use crate::signals::interrupt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;

/// A job that fails if another one is in the group, and records when it enters.
const EXCLUSIVE: &str = "
deploy:
  resource_group: prod
  script:
    - mkdir \"$SPOT/in\" || exit 9
    - echo $CI_PIPELINE_ID >> \"$SPOT/order\"
    - for i in $(seq 600); do test -e \"$SPOT/go\" && break; sleep 0.1; done
    - sleep 0.2
    - rmdir \"$SPOT/in\"
";

fn spot(project: &Project) -> String {
    format!("SPOT={}", project.scratch().display())
}

fn start(project: &Project) -> Child {
    project.start(&["run", "--variable", &spot(project)])
}

fn order(project: &Project) -> Vec<String> {
    let text = fs::read_to_string(project.scratch().join("order")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

/// Returns the files in the directories of this name below the state.
fn files_in(project: &Project, name: &str) -> Vec<PathBuf> {
    let mut files = files_below(&project.home());
    files.retain(|path| path.parent().and_then(Path::file_name) == Some(name.as_ref()));
    files
}

/// Waits until this many runs wait for the group.
fn wait_for_queue(project: &Project, count: usize) {
    wait_until("the queue of the group", || {
        files_in(project, "queue").len() == count
    });
}

#[test]
fn one_job_of_a_group_runs_at_a_time_across_runs() {
    let project = Project::with_pipeline(EXCLUSIVE);
    let mut runs = vec![start(&project)];
    wait_until("the first job", || order(&project).len() == 1);
    for waiting in 1..=2 {
        runs.push(start(&project));
        wait_for_queue(&project, waiting);
    }
    fs::write(project.scratch().join("go"), "").unwrap();
    for mut run in runs {
        assert_eq!(run.wait().unwrap().code(), Some(0), "{}", project.printed());
    }
    assert_eq!(order(&project), ["1", "2", "3"]);
    // An unused group leaves no file.
    assert_eq!(files_in(&project, "resources"), [] as [PathBuf; 0]);
}

#[test]
fn setting_selects_the_next_run() {
    for (mode, expect) in [
        ("unordered", ["1", "2", "3"]),
        ("oldest_first", ["1", "2", "3"]),
        ("newest_first", ["1", "3", "2"]),
        ("newest_ready_first", ["1", "3", "2"]),
    ] {
        let project = Project::with_pipeline(EXCLUSIVE);
        fs::create_dir(project.home()).unwrap();
        let settings = format!("[resource-groups]\nprod = \"{mode}\"\n");
        fs::write(project.home().join("config.toml"), settings).unwrap();
        let mut runs = vec![start(&project)];
        wait_until("the first job", || order(&project).len() == 1);
        for waiting in 1..=2 {
            runs.push(start(&project));
            wait_for_queue(&project, waiting);
        }
        fs::write(project.scratch().join("go"), "").unwrap();
        for mut run in runs {
            assert_eq!(run.wait().unwrap().code(), Some(0), "{}", project.printed());
        }
        assert_eq!(order(&project), expect, "{mode}");
    }
}

#[test]
fn killed_run_releases_its_group() {
    let project = Project::with_pipeline(EXCLUSIVE);
    let mut holder = start(&project);
    wait_until("the first job", || order(&project).len() == 1);
    let mut next = start(&project);
    wait_for_queue(&project, 1);
    // The directory that the killed job created stays behind, so the test removes it.
    fs::remove_dir(project.scratch().join("in")).unwrap();
    wait_until("a guardian for each run", || guardians(&project).len() == 2);
    let mut first = processes_with(&spot(&project));
    first.retain(|pid| *pid != next.id());
    holder.kill().unwrap();
    holder.wait().unwrap();
    wait_until("the second job", || order(&project).len() == 2);
    // While the first job lives, it could remove the directory of the second.
    wait_until("the first job to be gone", || {
        let living = processes_with(&spot(&project));
        first.iter().all(|pid| !living.contains(pid))
    });
    fs::write(project.scratch().join("go"), "").unwrap();
    assert_eq!(
        next.wait().unwrap().code(),
        Some(0),
        "{}",
        project.printed()
    );
    wait_until("all of both to be gone", || {
        processes_with(&spot(&project)).is_empty()
    });
}

#[test]
fn run_that_waits_for_a_group_can_be_stopped() {
    let project = Project::with_pipeline(EXCLUSIVE);
    let mut holder = start(&project);
    wait_until("the first job", || order(&project).len() == 1);
    let mut waits = start(&project);
    wait_for_queue(&project, 1);
    interrupt(waits.id(), "-INT");
    assert_eq!(waits.wait().unwrap().code(), Some(130));
    wait_for_queue(&project, 0);
    fs::write(project.scratch().join("go"), "").unwrap();
    assert_eq!(holder.wait().unwrap().code(), Some(0));
    assert_eq!(order(&project), ["1"]);
}
