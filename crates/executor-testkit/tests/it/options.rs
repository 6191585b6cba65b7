//! A suite whose options leave nothing to prove does not pass.

use crate::reference::ReferenceProvider;
use executor_testkit::{SuiteOptions, Verdict, conformance};
use std::time::Duration;

/// Runs one check on a correct executor with an option that leaves nothing to find.
async fn check(name: &str, option: &str, change: fn(SuiteOptions) -> SuiteOptions) {
    let reference = ReferenceProvider::new();
    let options = change(ReferenceProvider::short_suite()).only([name]);
    let report = conformance(reference.build(None), options).await;
    let verdict = &report.check(name).expect("it ran").verdict;
    assert!(
        matches!(verdict, Verdict::Failed(reason) if reason.contains(option)),
        "{name}: {verdict:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_size_too_small_to_prove_anything_fails_its_check() {
    check("exit_codes", "exit_codes", |options| options.exit_codes([])).await;
    check("exit_codes", "exit_codes", |options| {
        options.exit_codes([0, 1])
    })
    .await;
    check("many_jobs_at_once", "jobs", |options| options.jobs(1)).await;
    check("long_line", "line_bytes", |options| options.line_bytes(80)).await;
    check("bounded_memory", "output_bytes", |options| {
        options.output_bytes(1_000_000).memory_growth(1_000)
    })
    .await;
    check("bounded_memory", "memory_growth", |options| {
        options.memory_growth(u64::MAX)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[should_panic(expected = "graceful_kill_timeout is 1s")]
async fn a_grace_period_longer_than_the_deadline_is_refused() {
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite().deadline(Duration::from_millis(500));
    conformance(reference.build(None), options).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partial_suite_lists_the_omitted_checks() {
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite().only(["success"]);
    let report = conformance(reference.build(None), options).await;
    report.assert_part_passed();
    assert!(!report.is_passed() && !report.is_whole());
    assert!(!report.left_out.contains(&"success"));
    assert!(report.left_out.contains(&"exit_codes"));
}
