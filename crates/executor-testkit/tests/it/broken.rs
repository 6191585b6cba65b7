//! Every bug is caught, and by the check that is about it.

use crate::reference::{Fault, ReferenceProvider};
use executor_testkit::{Report, SuiteOptions, Verdict, conformance, runner_config};
use std::time::Duration;

/// Held while memory is measured, so that no other test of this process grows meanwhile.
pub(crate) static MEMORY: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Runs the checks that are to catch the fault, and one that has to pass in spite of it.
async fn check(fault: Fault, expect: &[&str]) {
    let report = run(fault, expect, "success").await;
    assert_eq!(
        report.failed(),
        expect,
        "{fault:?} is not caught as it should be:\n{report}"
    );
}

async fn run(fault: Fault, expect: &[&str], beside: &str) -> Report {
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite().only(expect.iter().copied().chain([beside]));
    conformance(reference.build(Some(fault)), options).await
}

#[tokio::test(flavor = "multi_thread")]
async fn leftover_files_are_caught() {
    check(Fault::ForgetsFiles, &["cleanup_leaves_no_files"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_output_is_caught() {
    check(Fault::LosesLastBytes, &["success", "last_bytes"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaked_children_are_caught() {
    check(
        Fault::LeaksChildren,
        &["cleanup_leaves_no_processes", "nothing_is_left"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaked_detached_children_are_caught() {
    check(
        Fault::LeaksDetachedChildren,
        &["detached_children_are_ended", "nothing_is_left"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_cancel_is_caught() {
    check(Fault::IgnoresCancel, &["cancel_in_each_stage"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_abort_is_caught() {
    check(
        Fault::IgnoresAbort,
        &["abort_does_not_wait", "abort_overtakes_cancel"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_never_killed_is_caught() {
    check(Fault::NeverKills, &["cancel_kills_after_the_grace_period"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_grace_period_is_caught() {
    check(Fault::KillsAtOnce, &["cancel_terminates_first"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn swapped_streams_are_caught() {
    check(Fault::SwapsStreams, &["success", "streams_are_apart"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_exit_codes_are_caught() {
    check(Fault::CutsExitCodes, &["exit_codes", "signals"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_signals_are_caught() {
    check(Fault::HidesSignals, &["signals"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaked_variables_are_caught() {
    check(
        Fault::LeaksVariables,
        &[
            "variables_end_with_their_stage",
            "variables_end_with_their_job",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_on_standard_input_is_caught() {
    check(Fault::FeedsScript, &["standard_input_is_empty"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_background_children_is_caught() {
    check(Fault::WaitsForPipes, &["background_child_does_not_delay"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleanup_that_works_once_is_caught() {
    check(Fault::CleansUpOnce, &["cleanup_twice"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn success_after_cancel_is_caught() {
    check(Fault::CancelIsSuccess, &["cancel_in_each_stage", "timeout"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_cause_is_caught() {
    check(Fault::ForgetsCause, &["abort_in_each_stage", "timeout"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trimmed_file_variables_are_caught() {
    check(Fault::TrimsFiles, &["file_variables"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readable_file_variables_are_caught() {
    check(Fault::OpenFiles, &["file_variables_are_private"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_environment_is_caught() {
    check(
        Fault::SharesEnvironment,
        &["instances_are_independent", "many_jobs_at_once"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_stage_is_caught() {
    check(Fault::StuckStage, &["stage_is_readable_while_running"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn decorated_output_is_caught() {
    check(Fault::DecoratesPieces, &["masking_at_every_split"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn corrected_text_is_caught() {
    check(Fault::CorrectsText, &["raw_bytes"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_on_a_command_line_are_caught() {
    check(
        Fault::ShowsVariables,
        &["variables_stay_out_of_command_lines"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_is_kept_is_caught() {
    check(
        Fault::KeepsShell,
        &[
            "variables_end_with_their_stage",
            "after_script_has_a_fresh_shell",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_directory_is_caught() {
    check(Fault::WrongDirectory, &["working_directory"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_caught() {
    let report = run(Fault::Panics, &["success"], "cleanup_without_prepare").await;
    assert_eq!(report.failed(), ["success"]);
    let check = report.check("success").expect("it ran");
    let Verdict::Failed(reason) = &check.verdict else {
        panic!("{check:?}");
    };
    assert!(
        reason.contains("panicked") && reason.contains("prepare is broken"),
        "{reason}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_executor_is_caught() {
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite()
        .only(["success", "stop_before_prepare"])
        .deadline(Duration::from_secs(2));
    let report = conformance(reference.build(Some(Fault::Hangs)), options).await;
    assert_eq!(report.failed(), ["success", "stop_before_prepare"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn output_kept_in_memory_is_caught() {
    let _alone = MEMORY.lock().await;
    let reference = ReferenceProvider::new();
    let options = SuiteOptions::new(runner_config("reference"));
    let options = options.only(["bounded_memory", "success"]);
    let report = conformance(reference.build(Some(Fault::BuffersOutput)), options).await;
    assert_eq!(report.failed(), ["bounded_memory"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expensive_create_is_caught() {
    check(Fault::CreateAllocates, &["create_allocates_nothing"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feature_that_is_not_there_is_caught() {
    check(Fault::Boasts, &["features_match_abilities"]).await;
}

/// The checks that look for what a job leaves behind.
const LOOKING: [&str; 5] = [
    "stop_during_prepare",
    "cleanup_after_failed_prepare",
    "cleanup_leaves_no_files",
    "cleanup_leaves_no_processes",
    "nothing_is_left",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_elsewhere_is_caught() {
    for (fault, expect) in [
        (Fault::ForgetsFiles, &LOOKING[2..]),
        (Fault::LeaksChildren, &LOOKING[3..]),
    ] {
        let reference = ReferenceProvider::new();
        let options = ReferenceProvider::short_suite()
            .only(expect.iter().copied())
            .promptness(Duration::from_secs(3))
            .leftovers(reference.leftovers());
        let report = conformance(reference.build_remote(Some(fault)), options).await;
        assert_eq!(report.failed(), expect, "{fault:?}:\n{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_who_cannot_look_elsewhere_is_told() {
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite().only(LOOKING);
    let report = conformance(reference.build_remote(None), options).await;
    assert_eq!(report.failed(), LOOKING);
    for name in LOOKING {
        let verdict = &report.check(name).expect("it ran").verdict;
        assert!(
            matches!(verdict, Verdict::Failed(reason) if reason.contains("set SuiteOptions::leftovers")),
            "{verdict:?}"
        );
    }
}
