//! A job is stopped while the engine makes what it needs, and does not answer.

use super::faulty_socket::{Harm, Way};
use crate::support::runner::{BUSYBOX, Run, job, settings, shown};
use executor_core::job::{Image, Job};
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::{CommandBuilder, OptionsBuilder, RecordingTrace};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the engine may take to remove what there is. One that does not answer would be waited for twice as long.
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

/// Stops a job when this was done to the first of its requests of each of these kinds, and none is answered.
async fn stopped(requests: &[&str], harm: Harm, job: Job, choice: EngineChoice) {
    let way = Way::new();
    let run = Run::new(DockerConfig {
        host: Some(way.address()),
        engine: choice,
        volumes: vec!["/kept".to_owned()],
        disable_cache: true,
        ..settings()
    });
    for request in requests {
        way.harm(request, harm, 1);
    }
    let cancellation = Cancellation::new();
    let mut executor = run.provider.create(&ExecutorData::new()).unwrap();
    let options = OptionsBuilder::new()
        .config(run.config.clone())
        .job(job)
        .trace(Arc::new(RecordingTrace::new()))
        .build();
    let stop = async {
        let done = tokio::time::timeout(REMOVAL, way.done(requests.len())).await;
        done.unwrap_or_else(|_| panic!("{requests:?} do not come at the same time"));
        cancellation.cancel(CancelCause::User);
        Instant::now()
    };
    let (prepared, at) = tokio::join!(executor.prepare(options, &cancellation), stop);
    let late = at.elapsed();
    let error = prepared.unwrap_err();
    assert!(
        matches!(error, BuildError::Canceled(CancelCause::User)),
        "{requests:?} {harm:?}: {}",
        error.chain()
    );
    assert!(late < REMOVAL, "{requests:?} {harm:?}: {late:?}");
    executor.cleanup().await.unwrap();
    assert_eq!(
        run.left().await,
        Vec::<String>::new(),
        "{requests:?} {harm:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_immediate_and_leaves_nothing() {
    // R-EXEC-68
    for request in ["POST /containers/create", "POST /start"] {
        stopped(&[request], Harm::Deaf, job(BUSYBOX), EngineChoice::Agent).await;
        stopped(&[request], Harm::Deaf, with_service(), EngineChoice::Exec).await;
    }
    for request in ["POST /networks/create", "POST /volumes/create"] {
        stopped(&[request], Harm::Deaf, with_service(), EngineChoice::Exec).await;
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
    stopped(&requests, Harm::Deaf, with_service(), EngineChoice::Exec).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_objects_of_the_engine_are_removed_too() {
    // R-EXEC-68
    let late = Harm::Late(2);
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
            &[("POST /attach", Harm::Deaf)],
            &[("POST /start", Harm::Deaf)],
            &[("POST /start", Harm::Late(0))],
            &[("POST /start", Harm::Before), ("GET /json", Harm::Deaf)],
        ],
    )
    .await;
    disturbs_no_other(
        EngineChoice::Exec,
        &[
            &[("POST /exec", Harm::Deaf)],
            &[("POST /exec/", Harm::Deaf)],
        ],
    )
    .await;
}

async fn disturbs_no_other(choice: EngineChoice, all: &[&[(&str, Harm)]]) {
    let way = Way::new();
    let run = Run::new(DockerConfig {
        host: Some(way.address()),
        engine: choice,
        ..settings()
    });
    let mut opened = run.open(job(BUSYBOX)).await;
    let mut done = 0;
    for harms in all {
        for (request, harm) in *harms {
            way.harm(request, *harm, 1);
        }
        done += harms.len();
        let cancellation = Cancellation::new();
        let stop = async {
            way.done(done).await;
            cancellation.cancel(CancelCause::User);
            Instant::now()
        };
        let command = CommandBuilder::new("echo stopped").working_dir("/");
        let (ran, at) = tokio::join!(opened.run_until(command, &cancellation), stop);
        let late = at.elapsed();
        let error = ran.unwrap_err();
        assert!(
            matches!(error, BuildError::Canceled(CancelCause::User)),
            "{harms:?}: {}",
            error.chain()
        );
        assert!(late < REMOVAL, "{harms:?}: {late:?}");
        opened.trace.clear();
        let after = CommandBuilder::new("echo after").working_dir("/");
        let after = opened.run(after.stage(BuildStage::AfterScript)).await;
        assert!(after.unwrap().status.is_success(), "{harms:?}");
        assert_eq!(shown(&opened.trace), "after\n", "{harms:?}");
    }
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.left().await, Vec::<String>::new());
}
