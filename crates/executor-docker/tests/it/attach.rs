//! Jobs whose containers are started anew for each stage, as GitLab Runner does.

use crate::support::runner::{
    BUSYBOX, DEBIAN, NONROOT, Opened, Run, job, leftovers_of, log_text, settings,
};
use crate::support::{engine, in_time};
use bollard::models::{ContainerInspectResponse, EventMessage, MountPoint};
use bollard::query_parameters::EventsOptions;
use executor_core::prelude::*;
use executor_core::{FailureReason, Placement};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::CommandBuilder;
use futures_util::StreamExt;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::task::JoinSet;

pub(crate) fn attach() -> DockerConfig {
    DockerConfig {
        engine: EngineChoice::Attach,
        helper_image: Some(DEBIAN.to_owned()),
        ..settings()
    }
}

async fn inspect(container: &str) -> ContainerInspectResponse {
    let engine = engine().await;
    let found = engine.api().inspect_container(container, None).await;
    found.unwrap()
}

/// Runs a script in a stage of the runner and returns its output.
async fn print_in_helper(opened: &mut Opened, script: &str) -> String {
    opened.trace.clear();
    let project = opened.environment.workspace.dirs().project_dir.clone();
    let command = CommandBuilder::new(script).stage(BuildStage::GetSources);
    let command = command.placement(Placement::Helper).working_dir(project);
    let result = opened.run(command).await;
    let result = result.unwrap();
    assert!(result.status.is_success(), "{}", log_text(&opened.trace));
    opened.trace.text(TraceStream::STDOUT)
}

fn mount_of(container: &ContainerInspectResponse, path: &str) -> MountPoint {
    let mounts = container.mounts.clone().unwrap();
    let found = mounts
        .into_iter()
        .find(|it| it.destination.as_deref() == Some(path));
    found.unwrap()
}

/// Collects the engine's events about the objects of this owner, from now on until all are removed.
///
/// The events are read live: the engine keeps only its last 256 events, including those of other tests.
pub(crate) async fn events_until_gone(owner: &str) -> JoinSet<Vec<EventMessage>> {
    let api = engine().await.api().clone();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let label = format!("dev.runwright.owner={owner}");
    let filters = HashMap::from([
        ("type".to_owned(), vec!["container".to_owned()]),
        ("label".to_owned(), vec![label]),
    ]);
    let options = EventsOptions {
        since: Some(now.as_secs().to_string()),
        filters: Some(filters),
        ..EventsOptions::default()
    };
    let mut task = JoinSet::new();
    task.spawn(async move {
        let mut events = api.events(Some(options));
        let mut living = 0;
        let mut seen = Vec::new();
        while let Some(event) = events.next().await {
            let event = event.unwrap();
            living += match event.action.as_deref() {
                Some("create") => 1,
                Some("destroy") => -1,
                _ => 0,
            };
            seen.push(event);
            if living == 0 {
                break;
            }
        }
        seen
    });
    task
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stage_is_a_start_whose_main_process_reads_the_script() {
    // R-EXEC-63, R-EXEC-64
    let run = Run::new(attach());
    let mut events = events_until_gone(&run.owner).await;
    let mut opened = run.open(job(BUSYBOX)).await;
    let container = opened.environment.hostname.clone();
    assert_eq!(opened.print("echo $$").await, "1\n");
    assert_eq!(opened.print("cat; echo once more").await, "once more\n");
    let found = inspect(&container).await;
    let config = found.config.unwrap();
    let state = found.state.unwrap();
    assert_eq!(
        (config.open_stdin, config.stdin_once),
        (Some(true), Some(true))
    );
    assert_eq!((found.exec_ids, state.running), (None, Some(false)));
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
    let seen = in_time(events.join_next()).await.unwrap().unwrap();
    let count = |action: &str| {
        let of_build = seen.iter().filter(|event| {
            let actor = event.actor.as_ref().and_then(|actor| actor.id.as_deref());
            actor.is_some_and(|id| id.starts_with(&container))
        });
        let fits = of_build.filter(|event| {
            let found = event.action.as_deref().unwrap_or_default();
            found.split(':').next() == Some(action)
        });
        fits.count()
    };
    assert_eq!(count("create"), 1);
    // One start probes the image, one creates a directory, and one runs each script.
    assert_eq!((count("attach"), count("start"), count("die")), (4, 4, 4));
    assert_eq!(count("exec_create"), 0);
}

async fn check_helper_container(run: Run) {
    let mut opened = run.open(job(NONROOT)).await;
    assert_eq!(container_count(&run).await, 1, "none before it is needed");
    let script_of_runner = "test -e /usr/bin/git && echo tools; echo brought >> file; id -u";
    assert_eq!(
        print_in_helper(&mut opened, script_of_runner).await,
        "tools\n1000\n"
    );
    assert_eq!(container_count(&run).await, 2);
    let script = "test -e /usr/bin/git || cat file; echo built >> file";
    assert_eq!(opened.print(script).await, "brought\n");
    assert_eq!(
        print_in_helper(&mut opened, "cat file").await,
        "brought\nbuilt\n"
    );
    assert_eq!(container_count(&run).await, 2, "each is made once");
    let build = inspect(&opened.environment.hostname).await;
    let name = build.name.as_deref().unwrap().trim_start_matches('/');
    let helper = inspect(&format!("{name}-helper")).await;
    let (build, helper) = (mount_of(&build, "/builds"), mount_of(&helper, "/builds"));
    assert_eq!((build.name, build.source), (helper.name, helper.source));
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

async fn container_count(run: &Run) -> usize {
    let left = leftovers_of(&run.owner).await;
    let containers = left.iter().filter(|it| it.starts_with("container"));
    containers.count()
}

#[tokio::test(flavor = "multi_thread")]
async fn stages_of_the_runner_use_the_helper_image() {
    // R-EXEC-52, R-EXEC-63
    check_helper_container(Run::new(attach())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_containers_share_a_volume_without_mounted_files() {
    // R-EXEC-52
    check_helper_container(Run::remote(attach())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_and_exit_code_of_a_shell_come_from_the_engine() {
    // R-EXEC-65, R-EXEC-66
    let run = Run::new(attach());
    let mut opened = run.open(job(DEBIAN)).await;
    assert_eq!(opened.environment.shell.dialect, ShellDialect::Bash);
    for code in [0, 1, 42, 137, 255] {
        opened.trace.clear();
        let script = format!("echo out; echo err >&2; (exec >&- 2>&-; sleep 0.2); exit {code}");
        let result = opened.run(CommandBuilder::new(script)).await.unwrap();
        assert_eq!(result.status.exit_code(), ExitCode(code));
        assert!(!result.oom_killed);
        assert_eq!(opened.trace.text(TraceStream::STDOUT), "out\n");
        assert_eq!(opened.trace.text(TraceStream::STDERR), "err\n");
    }
    // A shell that closes its output continues.
    let result = opened
        .run(CommandBuilder::new("exec >&- 2>&-; sleep 1; exit 7"))
        .await;
    assert_eq!(result.unwrap().status.exit_code(), ExitCode(7));
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_helper_image_fails_before_the_job_starts() {
    let missing = DockerConfig {
        helper_image: Some("runwright-test/there-is-none:1".to_owned()),
        pull_policy: vec![executor_docker::image::PullPolicy::Never],
        ..attach()
    };
    let run = Run::new(missing);
    let (error, mut executor, _) = run.try_open(job(BUSYBOX)).await.err().unwrap();
    assert!(error.chain().contains("there-is-none"), "{}", error.chain());
    executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_without_its_script_is_not_a_success() {
    // R-EXEC-66
    let run = Run::new(attach());
    let mut job = job(BUSYBOX);
    let entry = "test -e /once && exit 0; touch /once; exec \"$@\"";
    job.image.entrypoint = ["sh", "-c", entry, "entry"].map(str::to_owned).to_vec();
    let Ok(mut opened) = run.try_open(job).await else {
        panic!("its first start is as it should be");
    };
    let command = CommandBuilder::new("true").working_dir("/");
    let error = opened.run(command).await.unwrap_err();
    let words = error.chain();
    assert!(words.contains("before it had read the script"), "{words}");
    assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}
