//! Drivers that break the protocol.

use crate::support::{TestJob, changed};
use executor_core::chain;

/// Fails in `prepare` with this method, with these words.
async fn check(body: &str, words: &str) {
    let method = format!("def call_prepare(self, call, params, payload):\n    {body}");
    let mut job = TestJob::open(changed(&method)).await.unwrap();
    let error = job
        .prepare(&executor_core::Cancellation::new())
        .await
        .unwrap_err();
    let message = error.chain();
    assert!(message.contains(words), "{words:?} in {message:?}");
    let _ = job.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_a_frame_is_shown() {
    let print =
        "os.write(call.connection.output.fileno(), b'debug: at\\x01 step 2\\n'); time.sleep(600)";
    check(
        print,
        r#"printed "debug: at\x01 step 2\n" on its standard output, which belongs to the protocol"#,
    )
    .await;
    let header = "call.connection.output.write(b'\\0\\0\\0\\x02\\0\\0\\0\\0{]'); time.sleep(600)";
    check(
        header,
        "invalid header: key must be a string at line 1 column 2: {]",
    )
    .await;
    let length =
        "call.connection.output.write(b'\\0\\0\\0\\x08\\x7f\\xff\\xff\\xff'); time.sleep(600)";
    check(
        length,
        "a payload of 2147483647 bytes: each may have at most 1048576",
    )
    .await;
    let other = "call.connection.send({'id': call.id, 'reslt': {}}); time.sleep(600)";
    check(other, "reply (result, error, output, data, ack or log)").await;
    // The example moves its own standard output away, so a print does no harm.
    let method = "def call_run(self, call, params, payload):\n    print('stray', flush=True)\n    return host.Host.call_run(self, call, params, payload)";
    let mut job = TestJob::prepared(changed(method)).await;
    assert!(job.run("true").await.unwrap().status.is_success());
    job.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_call_ends_the_driver() {
    let other = "call.connection.send({'id': 77, 'result': {}}); time.sleep(600)";
    check(other, "answered the call 77, which is not open").await;
    // The second call is this one.
    let late = "call.connection.send({'id': 1, 'log': {}}, b'late\\n'); time.sleep(600)";
    check(late, "answered the call 1, which is not open").await;
    let twice = "call.connection.send({'id': call.id, 'error': {}}); time.sleep(0.1)";
    check(twice, "the driver gave no message").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_the_window_ends_the_driver() {
    let flood = "[call.connection.send({'id': call.id, 'output': {'stream': 'stdout'}}, b'x' * 65536) for _ in range(17)]; time.sleep(600)";
    check(flood, "more than 1 MiB").await;
    let long =
        "call.connection.send({'id': call.id, 'log': {}}, b'x' * ((1 << 20) + 1)); time.sleep(600)";
    check(
        long,
        "a payload of 1048577 bytes: each may have at most 1048576",
    )
    .await;
    let acknowledged =
        "call.connection.send({'id': call.id, 'ack': {'bytes': 1}}); time.sleep(600)";
    check(
        acknowledged,
        "acknowledged more bytes for the call 2 than it was sent",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn result_of_another_form_is_shown() {
    check("return {'shell': 'fish'}", "unknown variant `fish`").await;
    check(
        "raise host.Refused('no such board: ‘b7’', 'config')",
        "prepare: no such board: ‘b7’",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_version_is_refused() {
    let other = "return {'protocol': 9}";
    let words = "speaks version 9 of the protocol, and this program version 1";
    check_describe(other, words).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn description_is_there_for_a_report() {
    let method = "def call_run(self, call, params, payload): os._exit(3)";
    let fresh = executor_driver::provider(changed(method));
    assert_eq!(fresh.description(), None);
    let mut job = TestJob::prepared(changed(method)).await;
    assert!(job.run("true").await.is_err());
    let description = job.provider.description().unwrap();
    assert_eq!(
        (description.name.as_str(), description.version.as_str()),
        ("host.py", "1.0")
    );
    assert_eq!(description.capabilities, ["files"]);
    job.end().await.unwrap();
}

/// A path relative to a directory that the runner does not know would end up at the root.
#[tokio::test(flavor = "multi_thread")]
async fn directories_are_absolute() {
    let relative =
        "return {**host.Host.call_describe(self, call, params, payload), 'builds_dir': 'builds'}";
    let words = "invalid `builds_dir` \"builds\": expected an absolute path";
    check_describe(relative, words).await;
}

/// Fails in `acquire` with this method, with these words.
async fn check_describe(body: &str, words: &str) {
    let method = format!("def call_describe(self, call, params, payload):\n    {body}");
    let error = TestJob::open(changed(&method)).await.map(drop).unwrap_err();
    let message = chain(&error);
    assert!(message.contains(words), "{words:?} in {message:?}");
}
