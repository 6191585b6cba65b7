use std::sync::Arc;
use std::time::Duration;

use executor_core::{BuildError, CancelCause, Cancellation, ExitCode, FailureReason, StageStatus};
use steps::{ClientOptions, StepsClient, StepsError};
use tokio::time::timeout;

use super::support::{Output, Plan, Served, Way, quick};
use crate::service::support::PATIENCE;

#[tokio::test(flavor = "multi_thread")]
async fn missing_service_is_reported() {
    // R-STEP-01, R-STEP-49
    let folder = tempfile::tempdir().unwrap();
    let options = ClientOptions {
        ready_within: Duration::from_millis(50),
        ..quick()
    };
    let way = Arc::new(Way::to(folder.path().join("nothing")));
    let client = StepsClient::new(way, options);
    let error = client.hello(&Cancellation::new()).await.unwrap_err();
    assert!(matches!(error, StepsError::Unreachable { .. }), "{error:?}");
    let error = BuildError::from(error);
    assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
    assert_eq!(
        error.chain(),
        "steps: no step-runner service answers in the environment; runwright-agent must exist there and be started \
         (`runwright-agent serve`): test: connect: No such file or directory (os error 2)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn client_waits_for_a_late_service() {
    let mut served = Served::start();
    served.end().await;
    std::fs::remove_file(served.socket()).unwrap();
    let client = served.client();
    let late = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        std::fs::write(served.socket(), "").unwrap();
        served.replace().await;
    };
    let never = Cancellation::new();
    let (agent, ()) = tokio::join!(client.hello(&never), late);
    assert_eq!(agent.unwrap().pid, std::process::id());
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_a_service_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let way = Arc::new(Way::to(folder.path().join("nothing")));
    let client = StepsClient::new(way, quick());
    let stop = Cancellation::new();
    let (hello, ()) = tokio::join!(client.hello(&stop), async {
        tokio::task::yield_now().await;
        stop.cancel(CancelCause::User);
    });
    let error = hello.unwrap_err();
    assert!(
        matches!(error, StepsError::Canceled(CancelCause::User)),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn service_gone_too_long_is_lost() {
    let mut served = Served::start();
    let options = ClientOptions {
        lost_after: Duration::from_millis(200),
        ..quick()
    };
    let client = StepsClient::new(Arc::new(Way::to(served.socket())), options);
    let run = served.run("1", "echo begin; sleep 600");
    let begun = tokio::sync::Notify::new();
    let mut sink = |_, _: &[u8]| begun.notify_one();
    let never = Cancellation::new();
    let (ended, ()) = tokio::join!(client.execute(&run, &mut sink, &never), async {
        begun.notified().await;
        served.end().await;
        std::fs::remove_file(served.socket()).unwrap();
    });
    let error = ended.unwrap_err();
    // The service may have reported the end of the script before it was gone.
    if let StepsError::Lost { .. } = &error {
        let error = BuildError::from(error);
        assert!(matches!(
            error,
            BuildError::Canceled(CancelCause::EnvironmentLost)
        ));
    } else {
        assert!(
            matches!(error, StepsError::Canceled(_) | StepsError::Internal { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_result_is_there_until_it_is_released() {
    let served = Served::start();
    let client = served.client().with_kept_results();
    let run = served.run("1", "echo x >> started; exit 3");
    let mut sink = |_, _: &[u8]| {};
    let never = Cancellation::new();
    // As after a crash of the first caller, which did not record the result.
    for _ in 0..2 {
        let result = client.execute(&run, &mut sink, &never).await.unwrap();
        assert_eq!(result.status, StageStatus::Exited(ExitCode(3)));
    }
    assert_eq!(std::fs::read(served.path("work/started")).unwrap(), b"x\n");
    client.release_kept(&never).await;
    let error = client.status(Some(&run.id)).await.unwrap_err();
    assert!(matches!(error, StepsError::Forgotten { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn replacement_service_does_not_repeat_the_script() {
    let mut served = Served::start();
    let client = served.client();
    let run = served.run("1", "echo x >> started; echo begin; sleep 600");
    let begun = tokio::sync::Notify::new();
    let mut sink = |_, _: &[u8]| begun.notify_one();
    let never = Cancellation::new();
    let (ended, ()) = tokio::join!(client.execute(&run, &mut sink, &never), async {
        begun.notified().await;
        served.replace().await;
    });
    let error = ended.unwrap_err();
    let build = BuildError::from(error);
    assert!(!build.is_temporary(), "{build:?}");
    assert_eq!(std::fs::read(served.path("work/started")).unwrap(), b"x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn script_with_unknown_start_is_not_sent_to_another_service() {
    // R-STEP-18, R-STEP-24
    for greeted in [false, true] {
        let mut served = Served::start();
        let options = ClientOptions {
            keep_alive: Duration::from_secs(2),
            lost_after: Duration::from_mins(5),
            ..quick()
        };
        let plan = Plan::FirstIsDeafAfter("echo x >> started");
        let way = Arc::new(Way::planned(served.socket(), plan));
        let client = StepsClient::new(Arc::clone(&way) as _, options);
        let never = Cancellation::new();
        if greeted {
            client.hello(&never).await.unwrap();
        }
        let script = "echo x >> started; until [ -e go ]; do sleep 0.01; done";
        let run = served.run("1", script);
        let mut output = Output::default();
        let mut sink = output.sink();
        let (ended, ()) = tokio::join!(client.execute(&run, &mut sink, &never), async {
            let started = async {
                while std::fs::read(served.path("work/started")).unwrap_or_default() != b"x\n" {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            timeout(PATIENCE, started).await.expect("the script starts");
            served.replace().await;
            way.is_replaced.cancel();
            // Another call of the same client learns the new instance first.
            let _ = client.hello(&never).await;
            std::fs::write(served.path("work/go"), "").unwrap();
        });
        let error = ended.expect_err("the outcome is unknown");
        assert!(
            executor_core::chain(&error).contains("was restarted"),
            "{error:?}"
        );
        assert!(
            !BuildError::from(error).is_temporary(),
            "a second attempt could run it twice"
        );
        assert_eq!(std::fs::read(served.path("work/started")).unwrap(), b"x\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restarted_service_takes_the_next_request() {
    let mut served = Served::start();
    let client = served.client();
    let never = Cancellation::new();
    for round in ["1", "2"] {
        let run = served.run(round, &format!("echo {round} >> rounds"));
        let mut output = Output::default();
        let ended = client.execute(&run, &mut output.sink(), &never).await;
        assert!(ended.unwrap().status.is_success());
        served.replace().await;
        // The client knows that the old service is gone before the next run.
        client.status(None).await.unwrap();
    }
    assert_eq!(
        std::fs::read(served.path("work/rounds")).unwrap(),
        b"1\n2\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_connection_is_noticed_during_silence() {
    let served = Served::start();
    let options = ClientOptions {
        keep_alive: Duration::from_millis(200),
        ..quick()
    };
    let way = Arc::new(Way::planned(served.socket(), Plan::FirstHangs(2_000)));
    let client = StepsClient::new(Arc::clone(&way) as _, options);
    // More than the connection carries, then silence, then the end.
    let run = served.run(
        "1",
        "head -c 5000 /dev/zero | tr '\\0' x; sleep 1; echo end",
    );
    let mut output = Output::default();
    let never = Cancellation::new();
    let mut sink = output.sink();
    let ended = timeout(2 * PATIENCE, client.execute(&run, &mut sink, &never)).await;
    let ended = ended.expect("the hang is noticed");
    drop(sink);
    assert!(ended.unwrap().status.is_success());
    assert_eq!(output.stdout.len(), 5_004);
    // On a busy machine other connections may count as hanging too.
    assert!(way.connections.load(std::sync::atomic::Ordering::Relaxed) >= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_client_harms_nothing() {
    // R-STEP-20
    let served = Served::start();
    let run = served.run(
        "1",
        "echo begin; until [ -e go ]; do sleep 0.01; done; seq 1 100000; echo end",
    );
    let begun = tokio::sync::Notify::new();
    {
        let client = served.client();
        let mut sink = |_, _: &[u8]| begun.notify_one();
        let never = Cancellation::new();
        tokio::select! {
            ended = client.execute(&run, &mut sink, &never) => panic!("ended early: {ended:?}"),
            () = begun.notified() => {}
        }
    }
    std::fs::write(served.path("work/go"), "").unwrap();
    let mut output = Output::default();
    let client = served.client();
    let ended = client
        .resume(&run, 0, &mut output.sink(), &Cancellation::new())
        .await;
    assert!(ended.unwrap().status.is_success());
    let numbers = (1..=100_000).map(|number| number.to_string());
    let first = std::iter::once("begin".to_owned());
    let expect = first.chain(numbers).chain(["end".to_owned()]);
    assert!(output.text().lines().eq(expect));
}
