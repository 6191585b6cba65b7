//! Jobs whose runner is killed, and their resumption by another process.

use crate::support::runner::{BUSYBOX, Opened, Run, job, settings};
use crate::support::{engine, in_time};
use bollard::exec::StartExecResults;
use bollard::models::ExecConfig;
use bollard::query_parameters::RemoveContainerOptions;
use executor_core::JobVariable;
use executor_core::ability::{ResumeHandle, ResumeObserver};
use executor_core::job::{Image, Job};
use executor_core::prelude::*;
use executor_core::trace::StreamKind;
use executor_docker::config::{DockerConfig, EngineChoice, NetworkChoice};
use executor_docker::engine::names::Names;
use executor_docker::{DockerOptions, provider};
use executor_testkit::{CommandBuilder, RecordingTrace};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;
use tokio::time::sleep;

const LINES: u32 = 60;
/// A file in the container of a job that has been resumed.
const RESUMED: &str = "/tmp/adopted";
/// The test whose name the process that is killed runs under.
const KILLED_TEST: &str = "resume::a_job_of_a_killed_runner_resumes_without_gap_or_repetition";
/// The environment variable with the task of the process that is killed.
const TASK: &str = "RUNWRIGHT_TEST_ADOPT";

/// The task of the process that is killed.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    owner: String,
    /// The directory of its builds, or `None` if they are in volumes.
    builds: Option<String>,
    /// The alias of its service, or `None` if it has no service.
    service: Option<String>,
    /// The file for its [`Note`]s.
    note: PathBuf,
}

/// The progress of a process.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    handle: ResumeHandle,
    /// The output so far.
    shown: String,
}

fn config() -> DockerConfig {
    DockerConfig {
        engine: EngineChoice::Agent,
        network: NetworkChoice::PerJob,
        ..settings()
    }
}

/// Returns a job that logs its service's output, if it has a service.
fn job_with(service: Option<&str>) -> Job {
    let mut job = job(BUSYBOX);
    if let Some(alias) = service {
        let script = "echo begun; mkdir /www; echo it is > /www/word; exec httpd -f -p 80 -h /www";
        job.variables = vec![JobVariable::public("CI_DEBUG_SERVICES", "true")];
        job.services = vec![Image {
            alias: Some(alias.to_owned()),
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            variables: vec![JobVariable::public("RUNWRIGHT_READY_TCP", "80")],
            ..Image::named(BUSYBOX)
        }];
    }
    job
}

/// Writes lines slowly, and a file that counts how often it ran. It does not end before the job is resumed.
fn script() -> CommandBuilder {
    let script = format!(
        "echo ran >> ran; i=0; while [ $i -lt {LINES} ]; do echo \"line $i\"; i=$((i+1)); sleep 0.1; \
         [ $i = 30 ] && until [ -e {RESUMED} ]; do sleep 0.1; done; done; \
         echo done > done; exit 7"
    );
    // An empty path is the project's directory.
    CommandBuilder::new(script).working_dir("")
}

fn lines(count: u32) -> String {
    (0..count).fold(String::new(), |text, line| text + &format!("line {line}\n"))
}

/// The body of the process that is killed.
async fn run_until_killed(task: &str) {
    let task: Task = serde_json::from_str(task).unwrap();
    let mut run = Run::new(config());
    run.provider = provider(DockerOptions::new().with_owner(&task.owner));
    run.config.host_builds_dir = task.builds;
    // Removed now, because the killed process cannot remove it.
    fs::remove_dir_all(run.directory.path()).unwrap();
    let trace = RecordingTrace::new();
    let log = trace.clone();
    let observer = ResumeObserver::new(move |handle| {
        let note = Note {
            handle: handle.clone(),
            shown: log.text(TraceStream::STDOUT),
        };
        let partial = task.note.with_extension("partial");
        fs::write(&partial, serde_json::to_vec(&note).unwrap()).unwrap();
        fs::rename(&partial, &task.note).unwrap();
    });
    let data = ExecutorData::new().with(observer);
    let job = job_with(task.service.as_deref());
    let mut opened = run.open_with(job, &data, trace).await;
    opened.trace.clear();
    let ran = opened.run(script()).await;
    panic!("nothing killed this process: {ran:?}");
}

/// Starts a run in a separate process, and kills it while its job writes.
async fn start_and_kill(run: &Run) -> Note {
    start_and_kill_with_service(run, None).await
}

/// Like `start_and_kill`, with a service beside the job.
async fn start_and_kill_with_service(run: &Run, service: Option<&str>) -> Note {
    let note = run.directory.path().join("note");
    let task = Task {
        owner: run.owner.clone(),
        builds: run.config.host_builds_dir.clone(),
        service: service.map(str::to_owned),
        note: note.clone(),
    };
    let mut child = start(&task);
    let read = || -> Option<Note> { serde_json::from_slice(&fs::read(&note).ok()?).ok() };
    let writes = async {
        while !read().is_some_and(|note| note.shown.contains("line 9\n")) {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {ended:?}");
            sleep(Duration::from_millis(20)).await;
        }
    };
    let writes = tokio::time::timeout(Duration::from_mins(2), writes).await;
    child.kill().unwrap();
    child.wait().unwrap();
    writes.expect("the job writes");
    read().unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test kills a process of its own, which no supervisor is to tidy up after"
)]
fn start(task: &Task) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", KILLED_TEST])
        .env(TASK, serde_json::to_string(task).unwrap())
        .spawn()
        .unwrap()
}

/// Resumes the job of a killed run in another run.
async fn resume(dead: &Run, note: &Note) -> Opened {
    let opened = adopt_job(dead, note, job(BUSYBOX)).await;
    opened.trace.clear();
    opened
}

async fn adopt_job(dead: &Run, note: &Note, job: Job) -> Opened {
    let mut run = Run::new(config());
    run.config = dead.config.clone();
    let data = ExecutorData::new().with(note.handle.clone());
    let opened = run.open_with(job, &data, RecordingTrace::new()).await;
    let container = &opened.environment.hostname;
    inside(container, &format!("touch {RESUMED}")).await;
    opened
}

async fn is_clean(run: &Run, opened: &mut Opened) {
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
    assert_eq!(private_directories(run.directory.path()), 0);
}

fn private_directories(root: &Path) -> usize {
    let entries = fs::read_dir(root.join(".tmp"));
    entries.into_iter().flatten().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_killed_runner_resumes_without_gap_or_repetition() {
    // R-EXEC-68, R-STEP-50
    if let Ok(task) = std::env::var(TASK) {
        return run_until_killed(&task).await;
    }
    for run in [Run::new(config()), Run::remote(config())] {
        let note = start_and_kill(&run).await;
        let mut opened = resume(&run, &note).await;
        let result = opened.run(script()).await.unwrap();
        assert_eq!(result.status, StageStatus::Exited(ExitCode(7)));
        let after = opened.trace.text(TraceStream::STDOUT);
        assert!(!after.is_empty() && !after.contains("line 0\n"), "{after}");
        assert_eq!(format!("{}{after}", note.shown), lines(LINES));
        assert_eq!(opened.print("cat ran").await, "ran\n");
        is_clean(&run, &mut opened).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ended_without_a_runner_reports_its_result() {
    let run = Run::new(config());
    let note = start_and_kill(&run).await;
    let mut opened = resume(&run, &note).await;
    let Workspace::Mounted { host, .. } = &opened.environment.workspace else {
        panic!("{:?}", opened.environment.workspace);
    };
    let done = Path::new(&host.project_dir).join("done");
    while !done.is_file() {
        sleep(Duration::from_millis(50)).await;
    }
    let result = opened.run(script()).await.unwrap();
    assert_eq!(result.status, StageStatus::Exited(ExitCode(7)));
    let after = opened.trace.text(TraceStream::STDOUT);
    assert_eq!(format!("{}{after}", note.shown), lines(LINES));
    is_clean(&run, &mut opened).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_job_has_its_services_without_repeated_output() {
    // R-EXEC-56, R-EXEC-68
    let run = Run::new(config());
    let note = start_and_kill_with_service(&run, Some("web")).await;
    let left = run.leftovers().await;
    assert_eq!(left.len(), 3, "two containers and a network: {left:?}");
    let job = job_with(Some("web"));
    let attempt = note.handle.fields.get("attempt").unwrap();
    let service = Names::new(&run.owner, job.id, attempt.parse().unwrap()).service(0);
    let mut opened = adopt_job(&run, &note, job).await;
    let written = || {
        let stream = |kind| opened.trace.text(TraceStream::service(0, kind));
        stream(StreamKind::Stdout) + &stream(StreamKind::Stderr)
    };
    let shows = async {
        while !written().contains("] later\n") {
            inside(&service, "echo later > /proc/1/fd/1").await;
            sleep(Duration::from_millis(50)).await;
        }
    };
    let shows = tokio::time::timeout(Duration::from_mins(1), shows).await;
    shows.expect("what a service writes is shown");
    assert!(!written().contains("begun"), "{}", written());
    let result = opened.run(script()).await.unwrap();
    assert_eq!(result.status, StageStatus::Exited(ExitCode(7)));
    let fetched = opened.print("wget -q -O - http://web/word").await;
    assert_eq!(fetched, "it is\n");
    is_clean(&run, &mut opened).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_job_without_its_container_fails_and_is_cleaned_up() {
    let run = Run::new(config());
    let note = start_and_kill(&run).await;
    let container = note.handle.fields.get("container").unwrap();
    let options = RemoveContainerOptions {
        force: true,
        ..RemoveContainerOptions::default()
    };
    let engine = engine().await;
    let removed = engine.api().remove_container(container, Some(options));
    removed.await.unwrap();
    assert_eq!(run.leftovers().await.len(), 1, "the network");
    let data = ExecutorData::new().with(note.handle.clone());
    let tried = run
        .try_open_with(job(BUSYBOX), &data, RecordingTrace::new())
        .await;
    let Err((error, mut executor, _)) = tried else {
        panic!("it was adopted");
    };
    assert!(!error.is_temporary(), "{error:?}");
    assert!(
        error.chain().contains("it was removed from outside"),
        "{}",
        error.chain()
    );
    executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
    assert_eq!(private_directories(run.directory.path()), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_of_another_job_is_not_adopted() {
    let run = Run::new(config());
    let mut other = run.open(job(BUSYBOX)).await;
    let mut handle = other
        .executor
        .abilities()
        .resumable
        .unwrap()
        .resume_handle()
        .unwrap();
    let attempt = handle.fields.get_mut("attempt").unwrap();
    "4000000000".clone_into(attempt);
    let data = ExecutorData::new().with(handle);
    let tried = run
        .try_open_with(job(BUSYBOX), &data, RecordingTrace::new())
        .await;
    let Err((error, mut executor, _)) = tried else {
        panic!("it was adopted");
    };
    assert!(
        error.chain().contains("does not belong to the job"),
        "{}",
        error.chain()
    );
    executor.cleanup().await.unwrap();
    assert_eq!(other.print("echo it lives").await, "it lives\n");
    is_clean(&run, &mut other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_exact_after_a_broken_connection_to_the_agent() {
    // R-STEP-50
    let run = Run::remote(config());
    let mut opened = run.open(job(BUSYBOX)).await;
    opened.trace.clear();
    let container = opened.environment.hostname.clone();
    let script = "i=0; while [ $i -lt 4000 ]; do echo \"line $i\"; i=$((i+1)); \
                  [ $((i % 50)) = 0 ] && sleep 0.1; \
                  [ $i = 3000 ] && until [ -e /tmp/enough ]; do sleep 0.1; done; done; exit 3";
    let stop = Cancellation::new();
    let running = async {
        let ran = opened.run(CommandBuilder::new(script)).await;
        stop.cancel(CancelCause::User);
        ran
    };
    let cutting = async {
        let mut cuts = 0;
        while !stop.is_canceled() {
            cuts += cut(&container).await;
            if cuts >= 3 {
                inside(&container, "touch /tmp/enough").await;
            }
            sleep(Duration::from_millis(300)).await;
        }
    };
    let (ran, ()) = in_time(async { tokio::join!(running, cutting) }).await;
    assert_eq!(ran.unwrap().status, StageStatus::Exited(ExitCode(3)));
    assert_eq!(opened.trace.text(TraceStream::STDOUT), lines(4000));
    is_clean(&run, &mut opened).await;
}

/// Kills all proxies to the agent in a container and returns their number.
async fn cut(container: &str) -> usize {
    // The pattern does not match itself.
    let script = "for p in /proc/[0-9]*; do grep -q 'agent.[p]roxy' $p/cmdline 2>/dev/null \
                  && kill -9 ${p#/proc/} && echo cut; done; true";
    inside(container, script).await.lines().count()
}

/// Runs a script in a container and returns its output.
async fn inside(container: &str, script: &str) -> String {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let config = ExecConfig {
        cmd: Some(command),
        attach_stdout: Some(true),
        ..ExecConfig::default()
    };
    let engine = engine().await;
    let exec = engine.api().create_exec(container, config).await.unwrap();
    let started = engine.api().start_exec(&exec.id, None).await.unwrap();
    let StartExecResults::Attached { mut output, .. } = started else {
        panic!("no output");
    };
    let mut text = String::new();
    while let Some(Ok(piece)) = output.next().await {
        text += &String::from_utf8_lossy(piece.as_ref());
    }
    text
}
