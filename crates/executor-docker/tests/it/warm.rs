//! Containers that are prepared before a job needs them.

use crate::support::engine;
use crate::support::runner::{BUSYBOX, DEBIAN, NONROOT, Opened, Run, job, log_text, settings};
use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::{RemoveImageOptions, TagImageOptions};
use executor_core::job::{Image, JobId};
use executor_core::prelude::*;
use executor_core::{ExecutorSettings, JobVariable};
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::engine::labels::{JOB_ID, WARM};
use executor_docker::garbage::{ObjectOwner, sweep};
use executor_testkit::RecordingTrace;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The log line of a job in a warm container.
const WARM_LINE: &str = "Using a warm container.";
const BOTH: [EngineChoice; 2] = [EngineChoice::Agent, EngineChoice::Exec];

fn warm(engine: EngineChoice) -> DockerConfig {
    DockerConfig {
        engine,
        warm: 1,
        ..settings()
    }
}

fn is_warm(opened: &Opened) -> bool {
    log_text(&opened.trace).contains(WARM_LINE)
}

async fn inspect(container: &str) -> ContainerInspectResponse {
    let engine = engine().await;
    let found = engine.api().inspect_container(container, None);
    found.await.unwrap()
}

async fn end(opened: &mut Opened) {
    opened.executor.cleanup().await.unwrap();
}

/// Runs a job, so that the next similar one finds a container.
async fn fill(run: &Run, image: &str) {
    let mut first = run.open(job(image)).await;
    assert!(!is_warm(&first), "{}", log_text(&first.trace));
    end(&mut first).await;
    run.provider.settled().await;
    assert_eq!(run.provider.warm(), 1);
}

async fn shut_down(run: &Run) {
    let ended = run.provider.shutdown(Duration::from_secs(30)).await;
    ended.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
    assert_eq!(private(run), Vec::<String>::new());
}

/// Returns the existing private directories.
fn private(run: &Run) -> Vec<String> {
    let entries = std::fs::read_dir(run.directory.path().join(".tmp"));
    let entries = entries.into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_job_gets_an_unused_container() {
    for (image, choice) in [(BUSYBOX, BOTH[0]), (BUSYBOX, BOTH[1]), (NONROOT, BOTH[0])] {
        let run = Run::new(warm(choice));
        fill(&run, image).await;
        let mut seen = Vec::new();
        for _ in 0..3 {
            let mut opened = run.open(job(image)).await;
            assert!(
                is_warm(&opened),
                "{image} {choice:?}: {}",
                log_text(&opened.trace)
            );
            let script = "ls /tmp; touch /tmp/mine; echo file >here; cat here";
            assert_eq!(opened.print(script).await, "file\n", "{image} {choice:?}");
            let found = inspect(&opened.environment.hostname).await;
            let name = found.name.unwrap();
            assert!(
                name.starts_with(&format!("/runwright-{}-1-", run.owner)),
                "{name}"
            );
            seen.push(found.id.unwrap());
            end(&mut opened).await;
            run.provider.settled().await;
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 3, "each had its own");
        assert_eq!(run.leftovers().await.len(), 1, "the one that is ready");
        shut_down(&run).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_has_no_traces_of_earlier_jobs() {
    let run = Run::new(warm(EngineChoice::Agent));
    let mut first = job(BUSYBOX);
    first.variables = vec![JobVariable::masked("TOKEN", "quite-a-secret")];
    let mut first = run.open(first).await;
    first
        .print("export LEFT=1; touch /tmp/left; sleep 1000 >/dev/null 2>&1 &")
        .await;
    run.provider.settled().await;
    let spare = run.leftovers().await;
    let spare = spare
        .iter()
        .find(|it| it.contains("-warm-"))
        .expect("there is one");
    let found = inspect(spare.split('"').nth(1).unwrap().trim_start_matches('/')).await;
    let config = found.config.unwrap();
    let labels = config.labels.clone().unwrap();
    assert_eq!(labels[WARM], "true");
    assert!(!labels.contains_key(JOB_ID));
    assert!(!format!("{config:?}").contains("quite-a-secret"));
    // Both exist at the same time.
    let mut second = job(BUSYBOX);
    second.id = JobId(2);
    let mut second = run.open(second).await;
    assert!(is_warm(&second));
    assert_ne!(second.environment.hostname, first.environment.hostname);
    let script = "ls /tmp; echo \"<$LEFT$TOKEN>\"; ps | grep -c '[s]leep 1000' || :";
    assert_eq!(second.print(script).await, "<>\n0\n");
    end(&mut first).await;
    assert_eq!(second.print("echo it lives").await, "it lives\n");
    end(&mut second).await;
    shut_down(&run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_of_a_job_runs_after_its_end() {
    for choice in BOTH {
        let run = Run::new(warm(choice));
        let mut opened = run.open(job(BUSYBOX)).await;
        let script = "(while :; do echo more >>written; done) >/dev/null 2>&1 &\n\
                      until [ -s written ]; do :; done";
        opened.print(script).await;
        let project = opened.environment.workspace.host_dirs().unwrap().clone();
        let written = std::path::Path::new(&project.project_dir).join("written");
        end(&mut opened).await;
        let at_its_end = std::fs::metadata(&written).unwrap().len();
        run.provider.settled().await;
        assert_eq!(run.leftovers().await.len(), 1, "the one that is ready");
        let afterwards = std::fs::metadata(&written).unwrap().len();
        assert_eq!(at_its_end, afterwards, "{choice:?}");
        shut_down(&run).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_other_limits_gets_another_container() {
    let mut run = Run::new(warm(EngineChoice::Agent));
    fill(&run, BUSYBOX).await;
    run.config.settings = ExecutorSettings::of(DockerConfig {
        memory: Some("64m".parse().unwrap()),
        ..warm(EngineChoice::Agent)
    });
    for is_ready in [false, true] {
        let mut opened = run.open(job(BUSYBOX)).await;
        assert_eq!(is_warm(&opened), is_ready, "{}", log_text(&opened.trace));
        let found = inspect(&opened.environment.hostname).await;
        assert_eq!(found.host_config.unwrap().memory, Some(64 << 20));
        end(&mut opened).await;
        run.provider.settled().await;
    }
    assert_eq!(run.provider.warm(), 2, "one for each kind");
    let mut entry = job(BUSYBOX);
    entry.image.entrypoint = vec![String::new()];
    let mut entry = run.open(entry).await;
    assert!(!is_warm(&entry));
    end(&mut entry).await;
    shut_down(&run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_image_gets_a_new_container() {
    let run = Run::new(warm(EngineChoice::Agent));
    let engine = engine().await;
    let name = format!("runwright-test/moves-{}", std::process::id());
    let image = format!("{name}:1");
    let tag = async |from: &str| {
        let options = TagImageOptions {
            repo: Some(name.clone()),
            tag: Some("1".to_owned()),
        };
        engine.api().tag_image(from, Some(options)).await.unwrap();
    };
    tag(BUSYBOX).await;
    fill(&run, &image).await;
    tag(DEBIAN).await;
    let mut opened = run.open(job(&image)).await;
    let log = log_text(&opened.trace);
    let system = opened.print("grep -c debian /etc/os-release || :").await;
    end(&mut opened).await;
    run.provider.settled().await;
    let mut next = run.open(job(&image)).await;
    let is_ready = is_warm(&next);
    let of_next = next.print("grep -c debian /etc/os-release || :").await;
    end(&mut next).await;
    shut_down(&run).await;
    let untag = engine
        .api()
        .remove_image(&image, None::<RemoveImageOptions>, None);
    untag.await.unwrap();
    assert!(!log.contains(WARM_LINE), "{log}");
    assert_ne!(system, "0\n");
    assert!(is_ready);
    assert_eq!(of_next, system);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_its_own_network_gets_no_warm_container() {
    let run = Run::new(warm(EngineChoice::Agent));
    let mut with_network = job(BUSYBOX);
    let own = JobVariable::public("FF_NETWORK_PER_BUILD", "true");
    with_network.variables = vec![own];
    let mut with_service = job(BUSYBOX);
    with_service.services = vec![Image {
        command: ["sleep", "300"].map(str::to_owned).to_vec(),
        alias: Some("beside".to_owned()),
        ..Image::named(BUSYBOX)
    }];
    for job in [with_network, with_service] {
        let mut opened = run.open(job).await;
        run.provider.settled().await;
        assert_eq!(run.provider.warm(), 0);
        end(&mut opened).await;
        assert_eq!(run.leftovers().await, Vec::<String>::new());
    }
    shut_down(&run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unused_one_is_removed_after_its_time() {
    let run = Run::new(DockerConfig {
        warm_idle: 1,
        ..warm(EngineChoice::Exec)
    });
    let mut first = run.open(job(BUSYBOX)).await;
    end(&mut first).await;
    run.provider.settled().await;
    let gone = async {
        while !run.leftovers().await.is_empty() || !private(&run).is_empty() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_mins(1), gone)
        .await
        .expect("it goes");
    assert_eq!(run.provider.warm(), 0);
    let mut next = run.open(job(BUSYBOX)).await;
    assert!(!is_warm(&next));
    end(&mut next).await;
    shut_down(&run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_shutdown_jobs_create_their_containers() {
    let run = Run::new(DockerConfig {
        warm: 2,
        ..warm(EngineChoice::Agent)
    });
    fill(&run, BUSYBOX).await;
    let mut second = run.open(job(BUSYBOX)).await;
    // The shutdown happens while a container is being prepared.
    let ended = run.provider.shutdown(Duration::from_secs(30)).await;
    ended.unwrap();
    assert_eq!(run.leftovers().await.len(), 1, "that of the job");
    assert_eq!(second.print("echo it lives").await, "it lives\n");
    end(&mut second).await;
    let mut third = run.open(job(BUSYBOX)).await;
    assert!(!is_warm(&third));
    end(&mut third).await;
    run.provider.settled().await;
    shut_down(&run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn warm_containers_of_a_killed_run_are_removed_by_the_next() {
    let run = Run::new(warm(EngineChoice::Agent));
    fill(&run, BUSYBOX).await;
    let owner = run.owner.clone();
    // Like a killed process, this cleans up nothing.
    drop(run);
    let swept = sweep(&engine().await, |other| other.owner != owner)
        .await
        .unwrap();
    assert_eq!(swept.failures, Vec::<String>::new());
    assert_eq!(swept.containers.len(), 1, "{swept:?}");
    assert!(swept.containers[0].contains("-warm-"), "{swept:?}");
    assert_eq!(
        crate::support::runner::leftovers_of(&owner).await,
        Vec::<String>::new()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_in_a_warm_container_can_be_resumed() {
    let run = Run::new(warm(EngineChoice::Agent));
    fill(&run, BUSYBOX).await;
    let mut opened = run.open(job(BUSYBOX)).await;
    assert!(is_warm(&opened));
    opened.print("echo first >word").await;
    let handle = opened
        .executor
        .abilities()
        .resumable
        .unwrap()
        .resume_handle()
        .unwrap();
    let (hostname, workspace) = {
        let environment = &opened.environment;
        (environment.hostname.clone(), environment.workspace.clone())
    };
    // Like a killed process, this cleans up nothing.
    drop(opened);
    let is_needed = |other: &ObjectOwner<'_>| other.is_of(&handle) || other.owner != run.owner;
    let swept = sweep(&engine().await, is_needed).await.unwrap();
    let mut swept_names = swept.containers.iter();
    assert!(swept_names.all(|it| it.contains("-warm-")), "{swept:?}");
    let data = ExecutorData::new().with(handle);
    let mut again = run
        .open_with(job(BUSYBOX), &data, RecordingTrace::new())
        .await;
    assert_eq!(again.environment.hostname, hostname);
    assert_eq!(
        again.environment.workspace.host_dirs(),
        workspace.host_dirs()
    );
    // A finished stage does not run again.
    assert_eq!(again.print("echo again >word").await, "");
    assert_eq!(again.print("cat word").await, "first\n");
    end(&mut again).await;
    shut_down(&run).await;
}
