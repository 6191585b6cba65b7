//! Each bug is caught by the check for it.

use crate::reference::{Fault, ReferenceProvider};
use executor_testkit::{Report, SuiteOptions, Verdict, conformance, runner_config};
use std::time::Duration;

/// Held while memory is measured, so that no other test of this process allocates memory meanwhile.
pub(crate) static MEMORY: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Lists bugs, the checks that must catch each, and a part of each check's reason.
macro_rules! caught {
    ($($test:ident: $fault:ident => { $($check:ident: $reason:literal;)+ })*) => {
        const CAUGHT: &[&str] = &[$($(stringify!($check)),+),*];

        $(#[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            check(Fault::$fault, &[$((stringify!($check), $reason)),+]).await;
        })*
    };
}

caught! {
    leftover_files_are_caught: ForgetsFiles => {
        cleanup_leaves_no_files: "still holds [\"SECRET\"";
    }
    lost_output_is_caught: LosesLastBytes => {
        success: "got \"\"";
        last_bytes: "of 200007 bytes were in the log";
    }
    leaked_children_are_caught: LeaksChildren => {
        cleanup_leaves_no_processes: "resources remain after success: process";
        nothing_is_left: "resources remain: process";
    }
    leaked_detached_children_are_caught: LeaksDetachedChildren => {
        detached_children_are_ended: "resources remain after success: process";
        nothing_is_left: "resources remain: process";
    }
    an_ignored_cancel_is_caught: IgnoresCancel => {
        cancel_in_each_stage: "run, after it was stopped, took longer than";
    }
    an_ignored_abort_is_caught: IgnoresAbort => {
        abort_does_not_wait: "run, after it was stopped, took longer than";
        abort_overtakes_cancel: "run continued after an abort";
    }
    a_process_that_is_never_killed_is_caught: NeverKills => {
        cancel_kills_after_the_grace_period: "run, after it was stopped, took longer than";
    }
    a_missing_grace_period_is_caught: KillsAtOnce => {
        cancel_terminates_first: "could not clean up";
    }
    swapped_streams_are_caught: SwapsStreams => {
        success: "got \"\"";
        streams_are_apart: "got \"err\\n\"";
    }
    wrong_exit_codes_are_caught: CutsExitCodes => {
        exit_codes: "exit 128: expected exit code 128, got exit code 1";
        signals: "signal TERM: expected exit code 143, got exit code 1";
    }
    hidden_signals_are_caught: HidesSignals => {
        signals: "signal TERM: expected exit code 143, got exit code 0";
    }
    leaked_variables_are_caught: LeaksVariables => {
        variables_end_with_their_stage: "variables leaked";
        variables_end_with_their_job: "variables leaked";
    }
    a_script_on_standard_input_is_caught: FeedsScript => {
        standard_input_is_empty: "got \"";
    }
    waiting_for_background_children_is_caught: WaitsForPipes => {
        background_child_does_not_delay: "left a child in the background took longer than";
    }
    a_cleanup_that_works_once_is_caught: CleansUpOnce => {
        cleanup_twice: "cleanup: there is nothing to clean up";
    }
    success_after_cancel_is_caught: CancelIsSuccess => {
        cancel_in_each_stage: "a stopped stage has a result: exit code 0";
        timeout: "a stopped stage has a result: exit code 0";
        stop_before_run: "a stopped stage has a result: exit code 0";
    }
    a_forgotten_cause_is_caught: ForgetsCause => {
        abort_in_each_stage: "it was stopped by the job's source and reports by the user";
        timeout: "it was stopped because its time is up and reports by the user";
    }
    trimmed_file_variables_are_caught: TrimsFiles => {
        file_variables: "the file NEWLINES of 9 bytes arrived with 8";
    }
    readable_file_variables_are_caught: OpenFiles => {
        file_variables_are_private: "other users have permissions";
    }
    a_shared_environment_is_caught: SharesEnvironment => {
        instances_are_independent: "got \"file\\nsecond\\n\"";
        many_jobs_at_once: "of 4 jobs failed";
    }
    a_stuck_stage_is_caught: StuckStage => {
        stage_is_readable_while_running: "while a script runs the stage is prepare";
    }
    decorated_output_is_caught: DecoratesPieces => {
        masking_at_every_split: "| ";
    }
    corrected_text_is_caught: CorrectsText => {
        raw_bytes: "was changed";
    }
    variables_on_a_command_line_are_caught: ShowsVariables => {
        variables_stay_out_of_command_lines: "a command line contains a value";
    }
    a_shell_that_is_kept_is_caught: KeepsShell => {
        variables_end_with_their_stage: "variables leaked";
        after_script_has_a_fresh_shell: "expected a fresh shell";
    }
    a_wrong_directory_is_caught: WrongDirectory => {
        working_directory: "the script started in another directory";
    }
    an_expensive_create_is_caught: CreateAllocates => {
        create_allocates_nothing: "1000 executors opened";
    }
    a_feature_that_is_not_there_is_caught: Boasts => {
        features_match_abilities: "the provider reports the feature terminal as true";
    }
    a_provider_that_changes_is_caught: ChangesItsMind => {
        provider_is_stable: "it returned";
    }
    joined_lines_are_caught: JoinsLines => {
        multi_line_script: "Syntax error";
    }
    lost_characters_of_a_script_are_caught: AsciiScripts => {
        unicode_script: "got \"gre    e\\n\"";
    }
    a_script_as_an_argument_is_caught: ScriptAsArgument => {
        long_script: "Argument list too long";
    }
    steps_that_a_shell_reads_are_caught: RunsStepsAsScript => {
        run_steps: "to print \"hello Sally";
    }
    a_refused_empty_script_is_caught: RefusesEmptyScripts => {
        empty_script: "there is no script";
    }
    trimmed_variables_are_caught: TrimsVariables => {
        environment_variables: "|around|";
    }
    cut_variables_are_caught: CutsVariables => {
        large_variable: "102400 bytes became 65536";
    }
    helpers_that_are_elsewhere_are_caught: SeparatesHelpers => {
        stages_share_files: "got \"step_script\\n\"";
    }
    output_out_of_order_is_caught: ReordersOutput => {
        order_within_a_stream: "lost lines or their order";
    }
    cut_lines_are_caught: CutsLines => {
        long_line: "became 65543 bytes";
    }
    an_environment_that_ends_with_cancel_is_caught: BreaksWithCancel => {
        after_script_runs_after_cancel: "after_script: reference: run the script: the environment is gone";
    }
    a_stopped_preparation_that_fails_is_caught: FailsWhenStopped => {
        stop_during_prepare: "a stopped preparation failed: somebody interfered";
    }
    what_a_failed_preparation_left_is_caught: ForgetsFailedPrepare => {
        stop_during_prepare: "resources remain after a stopped prepare";
        cleanup_after_failed_prepare: "resources remain after a cache directory that cannot be created";
    }
    a_cleanup_that_needs_a_preparation_is_caught: NeedsPrepare => {
        cleanup_without_prepare: "cleanup: nothing was prepared";
    }
}

/// Runs the checks that must catch the fault, and one that must pass despite it.
async fn check(fault: Fault, expect: &[(&str, &str)]) {
    let names: Vec<_> = expect.iter().map(|(name, _)| *name).collect();
    let report = run(fault, &names, "success").await;
    assert_eq!(
        report.failed(),
        names,
        "{fault:?} is not caught as it should be:\n{report}"
    );
    for (name, reason) in expect {
        assert_reason(&report, name, reason);
    }
}

#[track_caller]
fn assert_reason(report: &Report, name: &str, part: &str) {
    let verdict = &report.check(name).expect("it ran").verdict;
    assert!(
        matches!(verdict, Verdict::Failed(reason) if reason.contains(part)),
        "{name} does not say {part:?}: {verdict:?}"
    );
}

async fn run(fault: Fault, expect: &[&str], beside: &str) -> Report {
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite()
        .only(expect.iter().copied().chain([beside]))
        .promptness(promptness(fault));
    conformance(reference.build(Some(fault)), options).await
}

/// Returns the limit for prompt actions: long, unless the fault makes the check wait for all of it.
fn promptness(fault: Fault) -> Duration {
    match fault {
        Fault::IgnoresCancel
        | Fault::IgnoresAbort
        | Fault::NeverKills
        | Fault::WaitsForPipes
        | Fault::LeaksChildren
        | Fault::LeaksDetachedChildren => Duration::from_secs(8),
        _ => Duration::from_mins(1),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_caught() {
    let report = run(Fault::Panics, &["success"], "cleanup_without_prepare").await;
    assert_eq!(report.failed(), ["success"]);
    assert_reason(&report, "success", "panicked");
    assert_reason(&report, "success", "prepare is broken");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_executor_is_caught() {
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite()
        .only(["success", "stop_before_prepare"])
        .deadline(Duration::from_secs(2));
    let report = conformance(reference.build(Some(Fault::Hangs)), options).await;
    assert_eq!(report.failed(), ["success", "stop_before_prepare"]);
    assert_reason(&report, "stop_before_prepare", "prepare took longer than");
}

#[tokio::test(flavor = "multi_thread")]
async fn held_lines_are_caught() {
    let report = run(Fault::HoldsLines, &[], "success").await;
    report.assert_part_passed();
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite()
        .only(["output_is_live"])
        .deadline(Duration::from_secs(2));
    let report = conformance(reference.build(Some(Fault::HoldsLines)), options).await;
    assert_eq!(report.failed(), ["output_is_live"]);
    let reason = "the script's first output took longer than 2s";
    assert_reason(&report, "output_is_live", reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn output_kept_in_memory_is_caught() {
    let _alone = MEMORY.lock().await;
    let reference = ReferenceProvider::new();
    let options = SuiteOptions::new(runner_config("reference"));
    let options = options.only(["bounded_memory", "success"]);
    let report = conformance(reference.build(Some(Fault::BuffersOutput)), options).await;
    assert_eq!(report.failed(), ["bounded_memory"]);
    assert_reason(&report, "bounded_memory", "made this process grow by");
}

/// The checks that look for a job's leftovers.
const LEFTOVER_CHECKS: [&str; 5] = [
    "stop_during_prepare",
    "cleanup_after_failed_prepare",
    "cleanup_leaves_no_files",
    "cleanup_leaves_no_processes",
    "nothing_is_left",
];

#[tokio::test(flavor = "multi_thread")]
async fn remote_leftovers_are_caught() {
    for (fault, expect) in [
        (Fault::ForgetsFiles, LEFTOVER_CHECKS.as_slice()),
        (Fault::LeaksChildren, &LEFTOVER_CHECKS[3..]),
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
async fn a_missing_leftover_probe_is_reported() {
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite().only(LEFTOVER_CHECKS);
    let report = conformance(reference.build_remote(None), options).await;
    assert_eq!(report.failed(), LEFTOVER_CHECKS);
    for name in LEFTOVER_CHECKS {
        assert_reason(&report, name, "set SuiteOptions::leftovers");
    }
}

/// Checks that fail in separate tests, here and for the abilities.
const CAUGHT_SEPARATELY: [&str; 9] = [
    "stop_before_prepare",
    "output_is_live",
    "bounded_memory",
    "file_transfer",
    "sent_files_alone",
    "terminal",
    "steps",
    "resumable",
    "suspend",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_check_fails_for_some_executor() {
    let reference = ReferenceProvider::new();
    let options = ReferenceProvider::short_suite().only(["success"]);
    let report = conformance(reference.build(None), options).await;
    let ran = report.checks.iter().map(|check| check.name);
    let never: Vec<_> = ran
        .chain(report.left_out.iter().copied())
        .filter(|name| !CAUGHT.contains(name) && !CAUGHT_SEPARATELY.contains(name))
        .collect();
    assert!(never.is_empty(), "no broken executor fails at {never:?}");
}
