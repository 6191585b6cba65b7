use std::sync::Arc;
use std::time::{Duration, Instant};

use executor_core::{CancelCause, Cancellation};
use steps::{RunTiming, StepsClient, StepsError};

use super::support::{Output, Plan, Served, Way, quick};

/// Cancels or aborts a script after its start; returns its output.
async fn stopped(served: &Served, client: &StepsClient, script: &str, aborts: bool) -> String {
    let mut run = served.run("1", script);
    run.timing.terminate_grace = Duration::from_mins(10);
    let stop = Cancellation::new();
    let mut output = Output::default();
    let mut stopping = |stream, bytes: &[u8]| {
        // The shell reports on the other stream that its `sleep` was killed.
        if stream == process::Stream::Stdout {
            output.stdout.extend_from_slice(bytes);
        }
        if aborts {
            stop.abort(CancelCause::Shutdown);
        } else {
            stop.cancel(CancelCause::Shutdown);
        }
    };
    let begin = Instant::now();
    let ended = client.execute(&run, &mut stopping, &stop).await;
    let error = ended.unwrap_err();
    assert!(
        matches!(error, StepsError::Canceled(CancelCause::Shutdown)),
        "{error:?}"
    );
    assert!(begin.elapsed() < Duration::from_mins(5));
    assert!(client.status(None).await.unwrap().is_empty());
    output.text()
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_script_gets_the_signal_and_its_last_output_is_read() {
    let served = Served::start();
    let script = "trap 'echo bye; exit 7' TERM; echo begin; while :; do sleep 0.01; done";
    let text = stopped(&served, &served.client(), script, false).await;
    assert_eq!(text, "begin\nbye\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn aborted_script_gets_no_signal() {
    let served = Served::start();
    let script = "trap 'echo bye; exit 7' TERM; echo begin; while :; do sleep 0.01; done";
    let text = stopped(&served, &served.client(), script, true).await;
    assert_eq!(text, "begin\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancellation_passes_a_broken_connection() {
    let served = Served::start();
    let way = Way::planned(served.socket(), Plan::Random(0x1234_5678_9abc));
    let client = StepsClient::new(Arc::new(way), quick());
    let script = "trap 'echo bye; exit 7' TERM; echo begin; while :; do sleep 0.01; done";
    let text = stopped(&served, &client, script, false).await;
    assert_eq!(text, "begin\nbye\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn request_cancelled_before_start_does_not_start() {
    let served = Served::start();
    let stop = Cancellation::new();
    stop.cancel(CancelCause::User);
    let run = served.run("1", "echo x > started");
    let mut sink = |_, _: &[u8]| {};
    let ended = served.client().execute(&run, &mut sink, &stop).await;
    assert!(matches!(
        ended,
        Err(StepsError::Canceled(CancelCause::User))
    ));
    assert!(!served.path("work/started").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn request_has_its_own_time_limit() {
    let served = Served::start();
    let mut run = served.run("1", "echo begin; sleep 600");
    let limit = Duration::from_millis(300);
    run.timing = RunTiming {
        timeout: Some(limit),
        terminate_grace: Duration::from_millis(100),
        ..RunTiming::default()
    };
    let mut output = Output::default();
    let client = served.client();
    let ended = client
        .execute(&run, &mut output.sink(), &Cancellation::new())
        .await;
    let error = ended.unwrap_err();
    assert!(
        matches!(error, StepsError::TimedOut { limit: told } if told == limit),
        "{error:?}"
    );
    // The time limit may be reached before the shell has started.
    assert!("begin\n".starts_with(&output.text()), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn abort_does_not_wait_for_a_lost_service() {
    let mut served = Served::start();
    let mut options = quick();
    options.abort_within = Duration::from_millis(200);
    options.lost_after = Duration::from_mins(10);
    let client = StepsClient::new(Arc::new(Way::to(served.socket())), options);
    let run = served.run("1", "echo begin; sleep 600");
    let begun = tokio::sync::Notify::new();
    let mut sink = |_, _: &[u8]| begun.notify_one();
    let cancellation = Cancellation::new();
    let start = Instant::now();
    let (ended, ()) = tokio::join!(client.execute(&run, &mut sink, &cancellation), async {
        begun.notified().await;
        served.end().await;
        std::fs::remove_file(served.socket()).unwrap();
        cancellation.abort(CancelCause::Shutdown);
    });
    assert!(
        matches!(ended, Err(StepsError::Canceled(CancelCause::Shutdown))),
        "{ended:?}"
    );
    assert!(start.elapsed() < Duration::from_mins(5));
}
