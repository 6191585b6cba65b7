//! What a program gets that depends on `runwright` as it is. Another package of the same build can turn these Cargo
//! features on, so these tests run only by name: `cargo test --package runwright --test default_features`.

use parking_lot::Mutex;
use runwright::shell::ShellConfig;
use runwright::{
    Cancellation, EventSink, LocalProject, LocalRun, PipelineEvent, PipelineOptions, RunExit,
    StateDir,
};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

fn project(directory: &Path, file: &str) -> (LocalProject, PipelineOptions) {
    fs::write(directory.join(".gitlab-ci.yml"), file).expect("a file");
    let commit =
        "git init -q && git add . && git -c user.name=a -c user.email=a@example.com commit -qm a";
    let made = Command::new("sh")
        .args(["-c", commit])
        .current_dir(directory)
        .status();
    assert!(made.expect("a shell").success());
    let project = LocalProject::find(directory, None).expect("a project");
    let mut options = PipelineOptions::default();
    options.remote.directory = Some(directory.join("state"));
    (project, options)
}

#[test]
fn include_by_http_names_the_missing_feature() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = "include: https://gitlab.example.com/ci.yml\na: { script: [ls] }\n";
    let (project, options) = project(directory.path(), file);
    let read = project.read(&options).expect("it is read");
    let errors = read.into_result().expect_err("no pipeline");
    let error = format!("{errors:#?}");
    assert!(
        error.contains("this build sends no requests over HTTP"),
        "{error}"
    );
    assert!(error.contains("Cargo feature `remote`"), "{error}");
}

#[test]
fn included_project_comes_by_git() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = "include: { project: g/p, file: ci.yml }\na: { script: [ls] }\n";
    let (project, options) = project(directory.path(), file);
    // Nothing listens there.
    let remote = "git remote add origin https://127.0.0.1:1/g/app.git";
    let added = Command::new("sh")
        .args(["-c", remote])
        .current_dir(directory.path())
        .status();
    assert!(added.expect("a shell").success());
    let read = project.read(&options).expect("it is read");
    let errors = read.into_result().expect_err("no pipeline");
    let error = format!("{errors:#?}");
    assert!(
        error.contains("https://127.0.0.1:1 did not answer Git"),
        "{error}"
    );
}

#[derive(Debug, Default)]
struct Events(Mutex<String>);

impl EventSink for Events {
    fn event(&self, event: &PipelineEvent) {
        self.0.lock().push_str(&format!("{event:?}\n"));
    }
}

#[tokio::test]
async fn job_with_run_names_the_missing_feature() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = "a: { run: [{ name: b, script: 'true' }] }\n";
    let (project, options) = project(directory.path(), file);
    let read = project.read(&options).expect("it is read");
    let (pipeline, _) = read.into_result().expect("a pipeline");
    let run = LocalRun::builder(&pipeline)
        .state(StateDir::at(&directory.path().join("state")))
        .executor(ShellConfig::default())
        .prepare()
        .await
        .expect("a run");
    let events = Arc::new(Events::default());
    let sink = Arc::clone(&events) as Arc<dyn EventSink>;
    let report = run
        .execute(sink, &Cancellation::new())
        .await
        .expect("a report");
    assert_ne!(report.exit, RunExit::Success);
    let events = events.0.lock();
    assert!(events.contains("Cargo feature `functions`"), "{events}");
    assert!(events.contains("RunnerConfigurationError"), "{events}");
}
