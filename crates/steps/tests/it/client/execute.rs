use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use executor_core::{
    Cancellation, ExitCode, FileVariable, StageResult, StageStatus, StageVariables,
};
use process::{OutputSink, Stream};
use steps::{RunId, RunState, RunSteps, ScriptStep, StepsError};

use super::support::{Output, Served, trusting};
use crate::together::until_all_there;

#[tokio::test(flavor = "multi_thread")]
async fn script_output_and_result_are_returned() {
    let served = Served::start();
    let client = served.client();
    let mut run = served.run(
        "1",
        "printf 'one\\ntw'; printf 'o\\r\\nthree\\r50%%\\r'; printf 'bad \\377\\000' >&2; cat \"$FILE\"; exit 3",
    );
    run.variables = Arc::new(StageVariables {
        environment: vec![("A".to_owned(), "$B".to_owned())],
        files: vec![FileVariable {
            key: "FILE".to_owned(),
            content: b"\xfffile".to_vec(),
        }],
        ..StageVariables::default()
    });
    let mut output = Output::default();
    let result = client
        .execute(&run, &mut output.sink(), &Cancellation::new())
        .await
        .unwrap();
    assert_eq!(output.stdout, b"one\ntwo\r\nthree\r50%\r\xfffile");
    assert_eq!(output.stderr, b"bad \xff\0");
    assert_eq!(result.status, StageStatus::Exited(ExitCode(3)));
    let stage = StageResult::from(result);
    assert_eq!((stage.stdout_bytes, stage.stderr_bytes), (24, 6));
    // It was finished, so the service does not know it.
    assert!(client.status(None).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_run_in_order_until_one_fails() {
    let served = Served::start();
    let mut run = served.run("1", "");
    let step = |name: &str, script: &str| ScriptStep {
        name: name.to_owned(),
        script: script.to_owned(),
    };
    run.steps = RunSteps::Scripts(vec![
        step("a", "echo a"),
        step("b", "echo b; kill -9 $$"),
        step("c", "echo c"),
    ]);
    run.shell = vec!["/bin/sh".to_owned(), "-e".to_owned()];
    let mut output = Output::default();
    let client = served.client();
    let result = client
        .execute(&run, &mut output.sink(), &Cancellation::new())
        .await
        .unwrap();
    assert_eq!(output.text(), "a\nb\n");
    assert_eq!(result.status, StageStatus::Signaled { signal: 9 });
}

#[tokio::test(flavor = "multi_thread")]
async fn many_requests_share_one_connection() {
    // R-STEP-48, R-STEP-14
    let served = Served::start();
    let way = Arc::new(super::support::Way::to(served.socket()));
    let client = steps::StepsClient::new(Arc::clone(&way) as _, trusting());
    client.hello(&Cancellation::new()).await.unwrap();
    let there = served.path("there");
    std::fs::create_dir(&there).unwrap();
    let mut running = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (client, id) = (client.clone(), format!("run-{number}"));
        // Each one waits for all others, so sequential runs would fail.
        let wait = until_all_there(&there, number, 20);
        let run = served.run(
            &id,
            &format!("{wait}; for i in 1 2 3 4 5; do echo {id} $i; done"),
        );
        running.spawn(async move {
            let mut output = Output::default();
            let ended = client
                .execute(&run, &mut output.sink(), &Cancellation::new())
                .await;
            (run.id, ended.unwrap(), output)
        });
    }
    let mut ended = 0;
    while let Some(run) = running.join_next().await {
        let (id, result, output) = run.unwrap();
        let text = output.text();
        let expect = (1..=5).map(|i| format!("{id} {i}"));
        assert!(text.lines().eq(expect), "{text}");
        assert!(result.status.is_success());
        ended += 1;
    }
    assert_eq!(ended, 20);
    assert_eq!(
        way.connections.load(std::sync::atomic::Ordering::Relaxed),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clients_see_one_request() {
    // R-STEP-15
    let served = Served::start();
    let (one, other) = (served.client(), served.client());
    let run = served.run(
        "1",
        "echo begin; until [ -e go ]; do sleep 0.01; done; echo end",
    );
    let begun = Arc::new(tokio::sync::Notify::new());
    let (mut first, mut second) = (Output::default(), Output::default());
    let execute = async {
        let begun = Arc::clone(&begun);
        let mut sink = first.sink();
        let mut noting = |stream: Stream, bytes: &[u8]| {
            sink(stream, bytes);
            begun.notify_one();
        };
        one.execute(&run, &mut noting, &Cancellation::new()).await
    };
    let watch = async {
        begun.notified().await;
        let status = other.status(Some(&run.id)).await.unwrap();
        assert_eq!(status[0].state, RunState::Running);
        std::fs::write(served.path("work/go"), "").unwrap();
        other
            .resume(&run, 0, &mut second.sink(), &Cancellation::new())
            .await
    };
    let (executed, watched) = tokio::join!(execute, watch);
    let mut whole = 0;
    for (ended, seen) in [(executed, first.text()), (watched, second.text())] {
        match ended {
            Ok(result) => {
                assert!(result.status.is_success());
                assert_eq!(seen, "begin\nend\n");
                whole += 1;
            }
            // The first client at the end finishes the request, so the other may find nothing.
            Err(error) => {
                assert!(matches!(error, StepsError::Forgotten { .. }), "{error}");
                assert!("begin\nend\n".starts_with(&seen), "{seen:?}");
            }
        }
    }
    assert!(whole > 0, "nobody has seen the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_client_resumes_where_the_lost_one_was() {
    // R-STEP-42
    let served = Served::start();
    let offset = Arc::new(Mutex::new(0));
    let mut run = served.run(
        "1",
        "printf 'Password: '; until [ -e go ]; do sleep 0.01; done; echo x; echo end",
    );
    let noted = Arc::clone(&offset);
    run.progress = Some(Arc::new(move |bytes| *noted.lock() = bytes));
    let mut before = Output::default();
    {
        let client = served.client();
        let never = Cancellation::new();
        let mut sink = before.sink();
        let execute = client.execute(&run, &mut sink, &never);
        let prompt = async {
            while *offset.lock() == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::select! {
            ended = execute => panic!("ended early: {ended:?}"),
            () = prompt => {}
        }
    }
    std::fs::write(served.path("work/go"), "").unwrap();
    let client = served.client();
    let known = client.status(None).await.unwrap();
    assert_eq!(known[0].id, RunId::new("1"));
    let from = *offset.lock();
    let mut after = Output::default();
    let result = client
        .resume(&run, from, &mut after.sink(), &Cancellation::new())
        .await
        .unwrap();
    assert!(result.status.is_success());
    assert_eq!(before.text(), "Password: ");
    assert_eq!(after.text(), "x\nend\n");
}

/// Records idle notifications, and then lets the script continue.
struct Idle {
    told: Vec<String>,
    go: PathBuf,
}

impl OutputSink for Idle {
    fn write(&mut self, _: Stream, bytes: &[u8]) {
        self.told.push(String::from_utf8_lossy(bytes).into_owned());
    }

    fn idle(&mut self) {
        self.told.push("(idle)".to_owned());
        std::fs::write(&self.go, "").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn line_is_flushed_complete_and_silence_is_reported_once() {
    let served = Served::start();
    // Idle long enough for another notification.
    let script = "echo one; until [ -e go ]; do sleep 0.01; done; sleep 0.5; echo two";
    let run = served.run("1", script);
    let mut output = Idle {
        told: Vec::new(),
        go: served.path("work/go"),
    };
    let client = served.client();
    let ended = client
        .execute(&run, &mut output, &Cancellation::new())
        .await;
    assert!(ended.unwrap().status.is_success());
    assert_eq!(output.told[..3], ["one\n", "(idle)", "two\n"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_request_is_refused_with_a_reason() {
    let served = Served::start();
    let client = served.client();
    let mut run = served.run("1", "echo");
    run.shell = vec!["/no/such/shell".to_owned()];
    let mut output = Output::default();
    let ended = client
        .execute(&run, &mut output.sink(), &Cancellation::new())
        .await;
    let error = ended.unwrap_err();
    assert!(matches!(error, StepsError::Refused { .. }), "{error:?}");
    assert!(error.to_string().contains("/no/such/shell"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn masked_variables_are_masked_and_accepted_by_any_input() {
    const FUNCTION: &str = r#"
spec:
  inputs:
    open: {type: string, default: ""}
    token: {type: string, sensitive: true, default: ""}
  outputs: {said: {type: string}}
---
exec:
  command: [sh, -c, 'echo "{\"name\":\"said\",\"value\":\"it is $1\"}" >>$2', sh, "${{ inputs.token }}", "${{ output_file }}"]
"#;
    const GOOD: &str = r#"
- {name: a, func: ./f, inputs: {token: "${{ vars.TOKEN }}"}, env: {E: "is ${{ vars.TOKEN }}"}}
- {name: b, script: 'echo "${{ vars.TOKEN }} $TOKEN ${{ vars.PLAIN }}"; test ${{ vars.TOKEN }} = tiger-tiger'}
"#;
    let served = Served::start();
    std::fs::create_dir(served.path("work/f")).unwrap();
    std::fs::write(served.path("work/f/func.yml"), FUNCTION).unwrap();
    let run = async |steps: &str| {
        let told = Arc::new(Mutex::new(String::new()));
        let reports = Arc::clone(&told);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut run = served.run("1", "");
        run.steps = RunSteps::Language(steps.to_owned());
        run.variables = Arc::new(StageVariables {
            environment: vec![pair("TOKEN", "tiger-tiger"), pair("PLAIN", "seen")],
            masked: vec!["TOKEN".to_owned()],
            ..StageVariables::default()
        });
        run.reports = Some(Arc::new(move |report| {
            *reports.lock() += &serde_json::to_string(&report).unwrap();
        }));
        let mut output = Output::default();
        let client = served.client();
        let ended = client
            .execute(&run, &mut output.sink(), &Cancellation::new())
            .await;
        let told = told.lock().clone();
        (ended.map(|it| it.status.is_success()), output.text(), told)
    };
    let (ended, log, told) = run(GOOD).await;
    assert!(ended.unwrap(), "{log}");
    assert_eq!(
        log,
        "Running step \"a\"\nRunning step \"b\"\n[MASKED] [MASKED] seen\n"
    );
    assert!(!told.contains("tiger"), "{told}");
    for shown in [
        r#""token":"[MASKED]""#,
        r#""E":"is [MASKED]""#,
        r#""said":"it is [MASKED]""#,
    ] {
        assert!(told.contains(shown), "{shown} in {told}");
    }
    let (ended, log, told) =
        run("[{name: a, func: ./f, inputs: {open: '${{ vars.TOKEN }}'}}]").await;
    assert!(ended.unwrap(), "{log}");
    assert!(told.contains(r#""open":"[MASKED]""#), "{told}");
    assert!(!format!("{log}{told}").contains("tiger"), "{log}{told}");
}
