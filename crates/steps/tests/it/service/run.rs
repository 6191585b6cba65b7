//! Running steps.

use steps::wire::v1::result::{ErrorKind, State};
use steps::wire::v1::step_result::Status::{Failure, Running, Success};
use steps::wire::v1::{self, step_result};

use super::support::{Served, follow, steps_of};

#[tokio::test]
async fn script_runs_and_its_state_is_reported() {
    // R-STEP-08
    // R-STEP-10
    let mut served = Served::start().await;
    let script = "pwd; echo out; echo err >&2; exit 0";
    let (log, status) = served.run(served.request("1", script)).await;
    let work = served.path("work");
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    let work = work.display().to_string();
    let mut expect = [work.as_str(), "out", "err"];
    expect.sort_unstable();
    assert_eq!(lines, expect);
    assert!(status.finished && status.exit_code == 0);
    let seconds =
        |time: Option<prost_types::Timestamp>| time.map(|time| (time.seconds, time.nanos));
    assert!(
        seconds(status.start_time).is_some()
            && seconds(status.start_time) <= seconds(status.end_time)
    );
    let result = status.result.unwrap();
    assert_eq!(result.state(), State::Success);
    assert_eq!(result.stderr_bytes, 4);
    assert!(result.peak_memory > 0 && result.duration_us > 0 && result.log_bytes > 0);
    served.stop().await;
}

#[tokio::test]
async fn steps_run_sequentially_until_one_fails() {
    // R-STEP-09
    let mut served = Served::start().await;
    let mut request = served.request("1", "");
    request.quiet = false;
    request.steps = steps_of(&[("a", "echo 1"), ("b", "echo 2; exit 42"), ("c", "echo 3")]);
    let (log, status) = served.run(request).await;
    assert_eq!(log, "Running step \"a\"\n1\nRunning step \"b\"\n2\n");
    assert_eq!(status.exit_code, 42);
    let result = status.result.unwrap();
    assert_eq!(
        (result.state(), result.error_kind()),
        (State::Failure, ErrorKind::StepFailure)
    );
    assert_eq!(result.message, "exit status 42");
    // A late follower sees everything.
    let events = events(&mut served, "1").await;
    let expect = [
        ("a", Running),
        ("a", Success),
        ("b", Running),
        ("b", Failure),
    ];
    assert_eq!(
        events,
        expect.map(|(name, status)| (name.to_owned(), status))
    );
    served.stop().await;
}

/// Returns all results of `FollowSteps`.
async fn events(served: &mut Served, id: &str) -> Vec<(String, step_result::Status)> {
    let id = id.to_owned();
    let answer = served
        .client
        .follow_steps(v1::FollowStepsRequest { id })
        .await;
    let mut results = answer.unwrap().into_inner();
    let mut events = Vec::new();
    while let Some(answer) = results.message().await.unwrap() {
        let result = answer.result.unwrap();
        events.push((result.step.clone().unwrap().name, result.status()));
    }
    events
}

#[tokio::test]
async fn log_has_the_documented_format() {
    // R-STEP-38
    // R-STEP-39
    let mut served = Served::start().await;
    let script =
        "printf 'a\\npart'; while [ ! -e go ]; do sleep 0.02; done; printf 'whole\\n'; echo e >&2";
    served
        .client
        .run(served.request("1", script))
        .await
        .unwrap();
    let message = v1::FollowLogsRequest {
        id: "1".to_owned(),
        offset: 0,
    };
    let mut pieces = served
        .client
        .follow_logs(message)
        .await
        .unwrap()
        .into_inner();
    let mut log = Vec::new();
    while let Some(piece) = pieces.message().await.unwrap() {
        log.extend_from_slice(&piece.data);
        // A partial line is shown when the script pauses.
        if log.ends_with(b"part\n") {
            std::fs::write(served.path("work/go"), "").unwrap();
        }
    }
    let log = String::from_utf8(log).unwrap();
    let heads: Vec<_> = log.lines().map(|line| line.split_at(27)).collect();
    for (stamp, _) in &heads {
        let shape: String = stamp
            .chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect();
        assert_eq!(shape, "0000-00-00T00:00:00.000000Z");
    }
    let rest: Vec<_> = heads.iter().map(|(_, rest)| *rest).collect();
    // Each stream keeps its order; the streams are not ordered among each other.
    let (out, err): (Vec<_>, Vec<_>) = rest.into_iter().partition(|line| line.contains('O'));
    assert_eq!(out, [" 01O a", " 01O part", " 01O+whole"]);
    assert_eq!(err, [" 01E e"]);
    served.stop().await;
}

#[tokio::test]
async fn follow_resumes_at_any_byte() {
    // R-STEP-42
    // R-STEP-15
    let mut served = Served::start().await;
    served
        .client
        .run(served.request("1", "for i in 1 2 3 4 5; do echo line $i; done"))
        .await
        .unwrap();
    let whole = follow(&mut served.client, "1", 0).await;
    let mut other = served.other_client().await;
    for offset in (0..=whole.len() + 2).step_by(7) {
        let rest = follow(&mut other, "1", i64::try_from(offset).unwrap()).await;
        assert_eq!(rest, whole.get(offset..).unwrap_or_default(), "{offset}");
    }
    served.stop().await;
}

#[tokio::test]
async fn request_is_stopped_at_its_time_limit() {
    let mut served = Served::start().await;
    let mut request = served.request("1", "echo begin; sleep 600");
    request.timing = Some(v1::Timing {
        timeout_ms: 300,
        ..v1::Timing::default()
    });
    let (log, status) = served.run(request).await;
    // The time limit may be reached before the shell has started.
    assert!("begin\n".starts_with(&log), "{log:?}");
    let result = status.result.unwrap();
    assert_eq!(
        (result.state(), result.error_kind()),
        (State::Cancelled, ErrorKind::Timeout)
    );
    served.stop().await;
}

#[tokio::test]
async fn steps_are_reported_while_they_run() {
    // R-STEP-09
    let mut served = Served::start().await;
    let mut request = served.request("1", "");
    request.steps = steps_of(&[
        ("a", "while [ ! -e go ]; do sleep 0.02; done"),
        ("b", "true"),
    ]);
    served.client.run(request).await.unwrap();
    let message = v1::FollowStepsRequest { id: "1".to_owned() };
    let mut results = served
        .client
        .follow_steps(message)
        .await
        .unwrap()
        .into_inner();
    let first = results.message().await.unwrap().unwrap().result.unwrap();
    assert_eq!((first.status(), &first.exec_result), (Running, &None));
    std::fs::write(served.path("work/go"), "").unwrap();
    let mut rest = Vec::new();
    while let Some(answer) = results.message().await.unwrap() {
        rest.push(answer.result.unwrap().status());
    }
    assert_eq!(rest, [Success, Running, Success]);
    served.stop().await;
}

#[tokio::test]
async fn end_of_log_tells_whether_the_newline_was_written() {
    let check = async |script: &str, open: u32| {
        let mut served = Served::start().await;
        served
            .client
            .run(served.request("1", script))
            .await
            .unwrap();
        let message = v1::FollowLogsRequest {
            id: "1".to_owned(),
            offset: 0,
        };
        let mut pieces = served
            .client
            .follow_logs(message)
            .await
            .unwrap()
            .into_inner();
        let mut last = None;
        while let Some(piece) = pieces.message().await.unwrap() {
            last = Some((piece.settled, piece.open));
        }
        assert_eq!(last, Some((true, open)), "{script}");
        served.stop().await;
    };
    check("echo a", 0).await;
    check("printf a", 1).await;
    check("printf a >&2", 2).await;
    check("printf a; sleep 0.3; printf b >&2; sleep 0.3", 3).await;
    check("printf a; sleep 0.3; echo b", 0).await;
}
