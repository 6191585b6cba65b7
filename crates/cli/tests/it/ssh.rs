//! Local pipelines on another host, over SSH.

use crate::project::{Project, count_ticks, files_below, wait_until};
use gitlab_testkit::Sshd;
use std::fs;
use std::path::PathBuf;

/// Returns a project whose runs are on a host.
fn project(host: &Sshd, pipeline: &str) -> Project {
    let project = Project::with_pipeline(pipeline);
    let settings = format!(
        "[ssh]\nhost = \"127.0.0.1\"\nport = {}\nidentity-file = \"{}\"\nknown-hosts-file = \"{}\"\n\
         config-file = \"/dev/null\"\n",
        host.address().port(),
        host.key().display(),
        host.known_hosts().display(),
    );
    fs::create_dir_all(project.home()).unwrap();
    fs::write(project.home().join("config.toml"), settings).unwrap();
    project
}

/// Waits until a host has no files of jobs.
pub(crate) fn wait_until_clean(host: &Sshd) {
    wait_until("the end of the directories of jobs", || {
        files_of_jobs(host).is_empty()
    });
}

pub(crate) fn files_of_jobs(host: &Sshd) -> Vec<PathBuf> {
    files_below(&host.home().join(".cache/runwright/jobs"))
}

#[test]
fn pipeline_with_artifacts_runs_on_another_host() {
    let host = Sshd::with_shells();
    let pipeline = "
stages: [build, test]
build: {stage: build, script: ['echo \"at $PWD\" > made'], artifacts: {paths: [made]}}
look: {stage: test, script: [cat made, 'ls .gitlab-ci.yml']}
";
    let project = project(&host, pipeline);
    let done = project.runwright(&["run", "--executor=ssh"]).expect_code(0);
    let place = format!("at {}/.cache/runwright/jobs/", host.home().display());
    done.expect_text(&place).expect_text(".gitlab-ci.yml");
    wait_until_clean(&host);
    fs::write(host.known_hosts(), "").unwrap();
    let refused = project.runwright(&["run", "--executor=ssh"]);
    refused
        .expect_code(3)
        .expect_text("is not known: it sent ssh-ed25519 SHA256:");
}

#[test]
fn killed_run_resumes_its_job_on_the_host() {
    // R-EXEC-68
    let host = Sshd::with_shells();
    let pipeline = "
job:
  script:
    - echo once >> ~/times
    - i=0; until [ -e ~/go ]; do i=$((i + 1)); echo \"tick $i.\"; sleep 0.1; done
    - echo \"ran $(wc -l < ~/times) times with $i ticks\"
";
    let project = project(&host, pipeline);
    let mut run = project.start(&["run", "--executor=ssh"]);
    project.wait_for("tick 3.");
    assert!(!files_of_jobs(&host).is_empty());
    run.kill().unwrap();
    run.wait().unwrap();
    let mut run = project.start(&["resume"]);
    project.wait_for("tick ");
    fs::write(host.home().join("go"), "").unwrap();
    assert!(run.wait().unwrap().success(), "{}", project.printed_end());
    let log = project.runwright(&["logs", "job"]).expect_code(0).stdout;
    let end = format!("ran 1 times with {} ticks", count_ticks(&log));
    assert!(log.contains(&end), "{log}");
    wait_until_clean(&host);
}
