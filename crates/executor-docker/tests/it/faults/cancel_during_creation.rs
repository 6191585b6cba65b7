//! A job is canceled while the engine creates its objects and does not respond.

use super::faulty_socket::{FaultySocket, SocketFault};
use crate::support::runner::{BUSYBOX, Run, job, log_text, settings};
use executor_core::job::{Image, Job};
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::{CommandBuilder, OptionsBuilder, RecordingTrace};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The limit for the engine to remove all objects. An unresponsive engine would be waited for twice as long.
const REMOVAL: Duration = Duration::from_mins(1);

fn with_service() -> Job {
    let mut job = job(BUSYBOX);
    job.services = vec![Image {
        name: BUSYBOX.to_owned(),
        alias: Some("beside".to_owned()),
        command: ["sleep", "300"].map(str::to_owned).to_vec(),
        ..Image::default()
    }];
    job
}

/// Cancels a job after the first request of each of these kinds met this fault and none was answered.
async fn stopped(requests: &[&str], fault: SocketFault, job: Job, choice: EngineChoice) {
    let faulty = FaultySocket::new();
    let run = Run::new(DockerConfig {
        host: Some(faulty.address()),
        engine: choice,
        volumes: vec!["/kept".to_owned()],
        disable_cache: true,
        ..settings()
    });
    for request in requests {
        faulty.inject(request, fault, 1);
    }
    let cancellation = Cancellation::new();
    let mut executor = run.provider.create(&ExecutorData::new()).unwrap();
    let options = OptionsBuilder::new()
        .config(run.config.clone())
        .job(job)
        .trace(Arc::new(RecordingTrace::new()))
        .build();
    let stop = async {
        let done = tokio::time::timeout(REMOVAL, faulty.done(requests.len())).await;
        done.unwrap_or_else(|_| panic!("{requests:?} do not come at the same time"));
        cancellation.cancel(CancelCause::User);
        Instant::now()
    };
    let (prepared, at) = tokio::join!(executor.prepare(options, &cancellation), stop);
    let late = at.elapsed();
    let error = prepared.unwrap_err();
    assert!(
        matches!(error, BuildError::Canceled(CancelCause::User)),
        "{requests:?} {fault:?}: {}",
        error.chain()
    );
    assert!(late < REMOVAL, "{requests:?} {fault:?}: {late:?}");
    executor.cleanup().await.unwrap();
    assert_eq!(
        run.leftovers().await,
        Vec::<String>::new(),
        "{requests:?} {fault:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_immediate_and_leaves_nothing() {
    // R-EXEC-68
    for request in ["POST /containers/create", "POST /start"] {
        stopped(
            &[request],
            SocketFault::Deaf,
            job(BUSYBOX),
            EngineChoice::Agent,
        )
        .await;
        stopped(
            &[request],
            SocketFault::Deaf,
            with_service(),
            EngineChoice::Exec,
        )
        .await;
    }
    for request in ["POST /networks/create", "POST /volumes/create"] {
        stopped(
            &[request],
            SocketFault::Deaf,
            with_service(),
            EngineChoice::Exec,
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn volumes_network_and_images_are_requested_concurrently() {
    // R-EXEC-59, R-EXEC-61
    let requests = [
        "POST /volumes/create",
        "POST /networks/create",
        "GET /images/",
    ];
    stopped(
        &requests,
        SocketFault::Deaf,
        with_service(),
        EngineChoice::Exec,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_objects_of_the_engine_are_removed_too() {
    // R-EXEC-68
    let late = SocketFault::Late(2);
    stopped(
        &["POST /containers/create"],
        late,
        job(BUSYBOX),
        EngineChoice::Exec,
    )
    .await;
    stopped(
        &["POST /networks/create"],
        late,
        with_service(),
        EngineChoice::Exec,
    )
    .await;
    stopped(
        &["POST /volumes/create"],
        late,
        job(BUSYBOX),
        EngineChoice::Exec,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_the_start_of_a_stage() {
    // R-EXEC-63, R-EXEC-68
    disturbs_no_other(
        EngineChoice::Attach,
        &[
            &[("POST /attach", SocketFault::Deaf)],
            &[("POST /start", SocketFault::Deaf)],
            &[("POST /start", SocketFault::Late(0))],
            &[
                ("POST /start", SocketFault::Before),
                ("GET /json", SocketFault::Deaf),
            ],
        ],
    )
    .await;
    disturbs_no_other(
        EngineChoice::Exec,
        &[
            &[("POST /exec", SocketFault::Deaf)],
            &[("POST /exec/", SocketFault::Deaf)],
        ],
    )
    .await;
}

async fn disturbs_no_other(choice: EngineChoice, all: &[&[(&str, SocketFault)]]) {
    let faulty = FaultySocket::new();
    let run = Run::new(DockerConfig {
        host: Some(faulty.address()),
        engine: choice,
        ..settings()
    });
    let mut opened = run.open(job(BUSYBOX)).await;
    let mut done = 0;
    for count in all {
        for (request, fault) in *count {
            faulty.inject(request, *fault, 1);
        }
        done += count.len();
        let cancellation = Cancellation::new();
        let stop = async {
            faulty.done(done).await;
            cancellation.cancel(CancelCause::User);
            Instant::now()
        };
        let command = CommandBuilder::new("echo stopped").working_dir("/");
        let (ran, at) = tokio::join!(opened.run_until(command, &cancellation), stop);
        let late = at.elapsed();
        let error = ran.unwrap_err();
        assert!(
            matches!(error, BuildError::Canceled(CancelCause::User)),
            "{count:?}: {}",
            error.chain()
        );
        assert!(late < REMOVAL, "{count:?}: {late:?}");
        opened.trace.clear();
        let after = CommandBuilder::new("echo after").working_dir("/");
        let after = opened.run(after.stage(BuildStage::AfterScript)).await;
        assert!(after.unwrap().status.is_success(), "{count:?}");
        assert_eq!(log_text(&opened.trace), "after\n", "{count:?}");
    }
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}
