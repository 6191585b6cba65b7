//! A service that violates the protocol: a script could have replaced the agent.

mod host_requests;
mod liar;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use self::liar::{Deaf, Liar, endless, these};
use super::support::{Output, quick};
use executor_core::{CancelCause, Cancellation, StageResult};
use prost_types::value::Kind;
use prost_types::{Timestamp, Value};
use steps::wire::v1::{self, step_result::Status};
use steps::{ClientOptions, RunId, RunResult, RunSpec, StepReport, StepsClient, StepsError};

/// Options of a client with short timeouts, for tests with paused time.
fn impatient() -> ClientOptions {
    // The paused clock does not advance during work.
    let soon = Duration::from_secs(1);
    ClientOptions {
        ready_within: soon,
        call_timeout: soon,
        lost_after: soon,
        abort_within: soon,
        ..quick()
    }
}

/// Options of a client with long timeouts, except after an abort.
fn unhurried() -> ClientOptions {
    ClientOptions {
        abort_within: Duration::from_millis(100),
        ..quick()
    }
}

/// Runs a script by this service, and returns its outcome and output.
async fn run(liar: Liar, cancellation: &Cancellation) -> (Result<RunResult, StepsError>, Output) {
    let client = StepsClient::new(Arc::new(liar), unhurried());
    let run = RunSpec::script(RunId::new("1"), "true");
    let mut output = Output::default();
    let ended = client.execute(&run, &mut output.sink(), cancellation).await;
    (ended, output)
}

fn piece(data: impl Into<Vec<u8>>) -> v1::FollowLogsResponse {
    v1::FollowLogsResponse {
        data: data.into(),
        ..v1::FollowLogsResponse::default()
    }
}

fn ended() -> v1::Status {
    v1::Status {
        id: "1".to_owned(),
        finished: true,
        ..v1::Status::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn log_that_always_ends_early_is_retried_until_stopped() {
    for is_told_of_end in [false, true] {
        let stop = Cancellation::new();
        let mut liar = Liar::new();
        let status = v1::Status {
            finished: false,
            // It has a result, but has not ended.
            result: is_told_of_end.then(v1::Result::default),
            ..ended()
        };
        liar.status = Arc::new(move || status.clone());
        let (stopping, asked) = (stop.clone(), Arc::clone(&liar.asked));
        liar.logs = Arc::new(move || {
            if asked.fetch_add(1, Ordering::Relaxed) == 3 {
                stopping.abort(CancelCause::User);
            }
            these([piece("")])
        });
        let (ended, _) = run(liar, &stop).await;
        let error = ended.unwrap_err();
        assert!(matches!(error, StepsError::Canceled(_)), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_results_are_handled() {
    let time = |seconds, nanos| Some(Timestamp { seconds, nanos });
    let worst = |state, kind, signal, exit_code| v1::Status {
        exit_code,
        start_time: time(i64::MIN, i32::MIN),
        end_time: time(i64::MAX, i32::MAX),
        result: Some(v1::Result {
            state,
            error_kind: kind,
            signal,
            duration_us: u64::MAX,
            cpu_us: u64::MAX,
            peak_memory: u64::MAX,
            stdout_bytes: u64::MAX,
            stderr_bytes: u64::MAX,
            log_bytes: u64::MAX,
            message: "\u{e4}\u{1b}[2J\n".repeat(10_000),
            log_error: "\u{e4}".repeat(10_000),
            ..v1::Result::default()
        }),
        ..ended()
    };
    for state in [-1, 0, 1, 2, 3, 4, 5, i32::MAX] {
        for kind in [i32::MIN, 0, 1, 2, 3, 4, 5, 6, 99] {
            for number in [i32::MIN, -1, 0, 7, 65, i32::MAX] {
                let status = worst(state, kind, number, number);
                let mut liar = Liar::new();
                liar.status = Arc::new(move || status.clone());
                match run(liar, &Cancellation::new()).await.0 {
                    Ok(result) => {
                        let log_error = result.log_error.clone().unwrap();
                        assert!(log_error.len() <= 4096, "{}", log_error.len());
                        let result = StageResult::from(result);
                        let _ = result.status.exit_code();
                        assert!(format!("{result:?}").len() < 20_000);
                    }
                    Err(error) => assert!(error.to_string().len() < 5_000),
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn status_without_or_with_another_id_is_ignored() {
    let liar = Liar {
        status: Arc::new(|| v1::Status {
            id: "2".to_owned(),
            ..ended()
        }),
        ..Liar::new()
    };
    let error = run(liar, &Cancellation::new()).await.0.unwrap_err();
    assert!(matches!(error, StepsError::Forgotten { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn log_is_passed_on_unchanged() {
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let sent = bytes.clone();
    let mut liar = Liar::new();
    liar.logs = Arc::new(move || {
        let odd = v1::FollowLogsResponse {
            settled: true,
            open: u32::MAX,
            ..v1::FollowLogsResponse::default()
        };
        let pieces = sent.chunks(100_000).map(piece);
        these(pieces.chain([odd, piece("")]).collect::<Vec<_>>())
    });
    // It reports a shorter log than it sends.
    liar.status = Arc::new(|| v1::Status {
        result: Some(v1::Result {
            log_bytes: 7,
            ..v1::Result::default()
        }),
        ..ended()
    });
    let (ended, output) = run(liar, &Cancellation::new()).await;
    assert!(ended.unwrap().status.is_success());
    assert!(output.stdout == bytes, "{} bytes", output.stdout.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_log_takes_no_memory_and_can_be_stopped() {
    const ENOUGH: usize = 64 << 20;
    let mut liar = Liar::new();
    // One endless line.
    liar.logs = Arc::new(|| endless(|_| piece(vec![b'a'; 1 << 20])));
    let client = StepsClient::new(Arc::new(liar), unhurried());
    let script = RunSpec::script(RunId::new("1"), "true");
    let stop = Cancellation::new();
    let (mut count, mut longest) = (0, 0);
    let mut output = |_, bytes: &[u8]| {
        count += bytes.len();
        longest = longest.max(bytes.len());
        if count > ENOUGH {
            stop.abort(CancelCause::User);
        }
    };
    let ended = client.execute(&script, &mut output, &stop).await;
    assert!(matches!(ended, Err(StepsError::Canceled(_))), "{ended:?}");
    // Lines are not held until they are complete.
    assert!(count > ENOUGH && longest <= 64 * 1024, "{longest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_messages_are_refused() {
    let huge = || vec![b'a'; 17 << 20];
    let mut in_the_log = Liar::new();
    in_the_log.logs = Arc::new(move || these([piece(huge())]));
    let mut in_the_status = Liar::new();
    in_the_status.status = Arc::new(move || v1::Status {
        id: String::from_utf8(huge()).unwrap(),
        ..ended()
    });
    for liar in [in_the_log, in_the_status] {
        let error = run(liar, &Cancellation::new()).await.0.unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
    }
}

/// A step result with nested steps.
fn nested(depth: usize) -> v1::StepResult {
    let mut result = v1::StepResult::default();
    for _ in 0..depth {
        result = v1::StepResult {
            sub_step_results: vec![result],
            ..v1::StepResult::default()
        };
    }
    result
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_step_results_are_reported_or_skipped() {
    let number = |number| Value {
        kind: Some(Kind::NumberValue(number)),
    };
    let numbers = [f64::NAN, f64::INFINITY, f64::MAX, -0.0].map(number);
    let outputs = numbers.into_iter().enumerate();
    let odd = v1::StepResult {
        status: 99,
        outputs: outputs.map(|(name, it)| (name.to_string(), it)).collect(),
        ..v1::StepResult::default()
    };
    let check = async |result: v1::StepResult, expect: usize| {
        let mut liar = Liar::new();
        liar.steps = Arc::new(move || {
            these([v1::FollowStepsResponse {
                result: Some(result.clone()),
            }])
        });
        let (sender, told) = std::sync::mpsc::channel();
        let client = StepsClient::new(Arc::new(liar), unhurried());
        let mut run = RunSpec::script(RunId::new("1"), "true");
        run.reports = Some(Arc::new(move |report: StepReport| {
            sender
                .send(serde_json::to_string(&report).unwrap())
                .unwrap();
        }));
        let mut output = Output::default();
        let ended = client
            .execute(&run, &mut output.sink(), &Cancellation::new())
            .await;
        assert!(ended.unwrap().status.is_success());
        drop(run);
        assert_eq!(told.iter().count(), expect);
    };
    check(odd, 1).await;
    check(nested(40), 1).await;
    // Deeper than functions can be nested, and than the reader goes.
    check(nested(400), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn result_of_an_unfinished_step_is_not_awaited() {
    let running = v1::StepResult {
        status: Status::Running.into(),
        ..v1::StepResult::default()
    };
    let mut liar = Liar::new();
    liar.steps = Arc::new(move || {
        let result = running.clone();
        endless(move |_| v1::FollowStepsResponse {
            result: Some(result.clone()),
        })
    });
    // The time of a busy runtime does not advance by itself. An unanswered call is repeated.
    let options = ClientOptions {
        call_timeout: Duration::from_secs(1),
        ..quick()
    };
    let client = StepsClient::new(Arc::new(liar), options);
    let mut run = RunSpec::script(RunId::new("1"), "true");
    run.reports = Some(Arc::new(|report| panic!("it has not ended: {report:?}")));
    let mut output = |_, _: &[u8]| {};
    let never = Cancellation::new();
    let ended = client.execute(&run, &mut output, &never);
    assert!(ended.await.unwrap().status.is_success());
}

#[tokio::test(start_paused = true)]
async fn unanswered_call_times_out() {
    let check = async |silent: &'static str, is_lost: bool| {
        let liar = Liar {
            silent,
            ..Liar::new()
        };
        let client = StepsClient::new(Arc::new(liar), impatient());
        let mut run = RunSpec::script(RunId::new("1"), "true");
        run.reports = Some(Arc::new(|_| {}));
        let (mut output, never) = (|_, _: &[u8]| {}, Cancellation::new());
        match client.execute(&run, &mut output, &never).await {
            Ok(result) => assert!(!is_lost && result.status.is_success(), "{silent}"),
            Err(StepsError::Unreachable { .. }) => assert_eq!(silent, "hello"),
            Err(error) => assert!(
                is_lost && matches!(error, StepsError::Lost { .. }),
                "{silent}: {error:?}"
            ),
        }
    };
    tokio::join!(
        check("hello", true),
        check("run", true),
        check("follow_logs", true),
        check("status", true),
        check("follow_steps", false),
        check("finish", false),
    );
}

#[tokio::test(start_paused = true)]
async fn non_service_listener_is_unreachable() {
    for says in ["", "HTTP/1.1 400 Bad Request\r\n\r\n", "\0\0\0\u{7f}"] {
        let client = StepsClient::new(Arc::new(Deaf::saying(says)), impatient());
        let error = client.hello(&Cancellation::new()).await.unwrap_err();
        assert!(matches!(error, StepsError::Unreachable { .. }), "{says:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_archives_are_errors() {
    use tokio::io::AsyncReadExt;
    let mut liar = Liar::new();
    liar.files = Arc::new(|| {
        let pieces = [Ok(vec![7; 100]), Err(tonic::Status::internal("it broke"))];
        Box::pin(tokio_stream::iter(
            pieces.map(|piece| piece.map(|data| v1::GetFilesResponse { data })),
        ))
    });
    let client = StepsClient::new(Arc::new(liar), unhurried());
    let (files, never) = (client.files(), Cancellation::new());
    let mut archive = files.get("/", &["a".to_owned()], &never).await.unwrap();
    let mut bytes = Vec::new();
    let error = archive.read_to_end(&mut bytes).await.unwrap_err();
    assert_eq!((bytes.len(), error.kind()), (100, io::ErrorKind::Other));
    assert!(error.to_string().contains("it broke"), "{error}");
}
