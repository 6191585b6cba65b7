//! The end of services, and their output.

use super::setup::{Setup, script, settings, with};
use crate::support::NOTICE;
use executor_core::cancellation::{CancelCause, Cancellation};
use executor_core::variable::JobVariable;
use executor_docker::DockerError;
use executor_testkit::{MaskingTrace, RecordingTrace};
use std::sync::Arc;
use std::time::Duration;

/// Waits until the log has a text.
async fn until(setup: &Setup, found: impl Fn(&RecordingTrace) -> bool) {
    let wait = async {
        while !found(&setup.trace) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(NOTICE, wait).await;
    assert!(waited.is_ok(), "it is not in the log: {}", setup.messages());
}

fn text(trace: &RecordingTrace) -> String {
    String::from_utf8_lossy(&trace.all()).into_owned()
}

#[tokio::test]
async fn a_dying_service_is_reported_at_once() {
    // R-EXEC-55
    let dies = script("db", "echo out of luck; sleep 0.5; exit 4");
    let needed = script("needed", "sleep 1; exit 137");
    let needed = with(needed, "RUNWRIGHT_SERVICE_REQUIRED", "true");
    let done = script("done", "sleep 0.5; echo migrated");
    let setup = Setup::started("dies", &[dies, needed, done]).await;
    setup.ready().await.expect("there is nothing to wait for");
    setup.services.watch();
    let lost = tokio::time::timeout(NOTICE, setup.services.lost()).await;
    let lost = lost.expect("the needed one is lost").to_string();
    assert!(
        lost.contains("(needed) has ended: it ended with exit code 137"),
        "{lost}"
    );
    until(&setup, |trace| text(trace).contains("(done) has finished")).await;
    until(&setup, |trace| text(trace).contains("out of luck")).await;
    let messages = setup.messages();
    assert!(
        messages.contains("(db) has ended: it ended with exit code 4"),
        "{messages}"
    );
    setup.close().await;
}

#[tokio::test]
async fn removed_services_are_not_reported_as_dead() {
    // R-EXEC-68
    let setup = Setup::started("removed", &[script("db", "sleep 60")]).await;
    setup.services.watch();
    setup.services.remove().await.expect("it is removed");
    setup
        .services
        .remove()
        .await
        .expect("once more does no harm");
    assert!(
        !setup.messages().contains("WARNING"),
        "{}",
        setup.messages()
    );
    setup.close().await;
}

#[tokio::test]
async fn output_of_services_is_shown_on_request_and_masked() {
    // R-EXEC-55
    let masking = MaskingTrace::new(["hunter2"]);
    let visible = masking.visible().clone();
    let variables = [
        JobVariable::public("CI_DEBUG_SERVICES", "true"),
        JobVariable::masked("PASSWORD", "hunter2"),
    ];
    let service = script("db", "echo the password is $P; echo oops >&2; sleep 60");
    let services = [with(service, "P", "$PASSWORD")];
    let trace = Arc::new(masking);
    let setup = Setup::with_trace("shown", settings(), &variables, &services, &visible, trace);
    let setup = setup.await;
    setup.start().await.expect("it starts");
    until(&setup, |trace| {
        let text = text(trace);
        text.contains("[service:db] the password is") && text.contains("[service:db] oops")
    })
    .await;
    assert!(!text(&setup.trace).contains("hunter2"));
    setup.close().await;
}

#[tokio::test]
async fn a_partial_start_leaves_nothing() {
    // R-EXEC-68
    let starts = script("db", "sleep 60");
    let mut fails = script("other", "");
    fails.command = vec!["/no/such/program".to_owned()];
    let setup = Setup::new("half", settings(), &[], &[starts, fails]).await;
    let error = setup
        .start()
        .await
        .expect_err("one cannot start")
        .to_string();
    assert!(
        error.contains("start the service runwright-test/busybox:1 (other)"),
        "{error}"
    );
    setup.close().await;
}

#[tokio::test]
async fn a_stopped_job_starts_no_service() {
    // R-EXEC-68
    let setup = Setup::new("stopped", settings(), &[], &[script("db", "sleep 60")]).await;
    let cancellation = Cancellation::new();
    cancellation.abort(CancelCause::User);
    let started = setup.services.start(&setup.network, &cancellation).await;
    assert!(matches!(started, Err(DockerError::Canceled(_))));
    setup.close().await;
}
