//! Cancel and abort, at each stage.

use crate::support::{Bench, job, with_git};
use executor_core::{BuildStage, CancelCause, FailureReason, JobState};
use executor_testkit::{Directive, Moment, ScriptedProvider};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stop {
    Cancel(CancelCause),
    Abort(CancelCause),
}

/// Stops a job during a hanging call, and checks the calls after it.
async fn check(moment: impl Into<Moment>, call: &str, stop: Stop, expect: &[&str]) {
    let provider = ScriptedProvider::new();
    provider.on(moment, Directive::hang());
    let bench = Bench::scripted(&provider, with_git());
    let call = format!("executor(1).{call}");
    let stop_it = async {
        provider.timeline().wait_for_line(&call).await;
        match stop {
            Stop::Cancel(cause) => bench.cancellation.cancel(cause),
            Stop::Abort(cause) => bench.cancellation.abort(cause),
        }
    };
    let (outcome, ()) = tokio::join!(bench.run(job().build()), stop_it);
    let order = provider.timeline().order();
    let at = order
        .iter()
        .position(|line| *line == call)
        .expect("the call came");
    let after: Vec<_> = order[at + 1..]
        .iter()
        .map(|line| line.trim_start_matches("executor(1)."))
        .collect();
    assert_eq!(after, expect, "{stop:?} at {call}");
    let (Stop::Cancel(cause) | Stop::Abort(cause)) = stop;
    if cause == CancelCause::User {
        assert_eq!(outcome.state, JobState::Canceled, "{stop:?} at {call}");
    } else {
        assert_eq!(
            outcome.failure_reason(),
            Some(FailureReason::RunnerInterrupted)
        );
    }
    provider.assert_obeyed();
}

#[tokio::test]
async fn cancel_before_the_scripts_leaves_only_cleanup() {
    // R-EXEC-26
    let cancel = Stop::Cancel(CancelCause::User);
    check(Moment::Prepare, "prepare", cancel, &["cleanup"]).await;
    let end = ["finish(canceled)", "cleanup"];
    check(
        BuildStage::PrepareScript,
        "run(prepare_script)",
        cancel,
        &end,
    )
    .await;
    check(BuildStage::GetSources, "run(get_sources)", cancel, &end).await;
}

#[tokio::test]
async fn after_script_and_uploads_run_after_cancel() {
    // R-EXEC-26
    let end = [
        "run(after_script)",
        "run(cleanup_file_variables)",
        "finish(canceled)",
        "cleanup",
    ];
    let cancel = Stop::Cancel(CancelCause::User);
    check(BuildStage::script(), "run(step_script)", cancel, &end).await;
}

#[tokio::test]
async fn abort_leaves_only_cleanup() {
    // R-EXEC-26
    for cause in [CancelCause::User, CancelCause::Shutdown] {
        let abort = Stop::Abort(cause);
        let finish = if cause == CancelCause::User {
            "finish(canceled)"
        } else {
            "finish(failed)"
        };
        check(Moment::Prepare, "prepare", abort, &["cleanup"]).await;
        for stage in [
            BuildStage::PrepareScript,
            BuildStage::GetSources,
            BuildStage::script(),
        ] {
            let call = format!("run({stage})");
            check(stage, &call, abort, &[finish, "cleanup"]).await;
        }
    }
}

#[tokio::test]
async fn abort_ends_after_script() {
    // R-EXEC-26
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::AfterScript, Directive::hang());
    let bench = Bench::scripted(&provider, with_git());
    let abort = async {
        provider
            .timeline()
            .wait_for_line("executor(1).run(after_script)")
            .await;
        // The hanging call ignores a cancel; the abort that follows ends it.
        bench.cancellation.cancel(CancelCause::User);
        tokio::task::yield_now().await;
        bench.cancellation.abort(CancelCause::User);
    };
    let (_, ()) = tokio::join!(bench.run(job().build()), abort);
    assert_eq!(
        provider.stages().last().map(String::as_str),
        Some("after_script")
    );
    provider.assert_obeyed();
}

#[tokio::test]
async fn after_script_gets_the_script_status() {
    let check = async |directive: Directive, expect: &str| {
        let provider = ScriptedProvider::new();
        provider.on(BuildStage::script(), directive);
        let bench = Bench::scripted(&provider, with_git());
        let cancel = async {
            if expect == "canceled" {
                provider
                    .timeline()
                    .wait_for_line("executor(1).run(step_script)")
                    .await;
                bench.cancellation.cancel(CancelCause::User);
            }
        };
        let _ = tokio::join!(bench.run(job().build()), cancel);
        let status_in = |stage: BuildStage| {
            let commands = provider.commands();
            let command = commands
                .iter()
                .find(|command| command.stage == stage)
                .expect("it ran");
            command.variables.get("CI_JOB_STATUS").map(str::to_owned)
        };
        assert_eq!(status_in(BuildStage::script()).as_deref(), Some("running"));
        assert_eq!(status_in(BuildStage::AfterScript).as_deref(), Some(expect));
    };
    check(Directive::succeed(), "success").await;
    check(Directive::exit(1), "failed").await;
    check(Directive::hang(), "canceled").await;
}

#[tokio::test]
async fn after_script_fails_the_job_only_on_request() {
    let check = async |ignore: &str, state: JobState| {
        let provider = ScriptedProvider::new();
        provider.on(BuildStage::AfterScript, Directive::exit(5));
        let bench = Bench::scripted(&provider, with_git());
        let variable = executor_core::JobVariable::public("AFTER_SCRIPT_IGNORE_ERRORS", ignore);
        let outcome = bench.run(job().variable(variable).build()).await;
        assert_eq!(outcome.state, state, "AFTER_SCRIPT_IGNORE_ERRORS={ignore}");
        // As a warning, or as the job's error.
        let log = bench.log();
        assert_eq!(log.matches("code 5").count(), 1, "{log}");
    };
    check("true", JobState::Success).await;
    check("", JobState::Success).await;
    check("false", JobState::Failed).await;
}

#[tokio::test]
async fn no_stage_runs_in_a_lost_environment() {
    let provider = ScriptedProvider::new();
    provider.on(BuildStage::script(), Directive::hang());
    let bench = Bench::scripted(&provider, with_git());
    let lose = async {
        let line = "executor(1).run(step_script)";
        provider.timeline().wait_for_line(line).await;
        bench.cancellation.cancel(CancelCause::EnvironmentLost);
    };
    let (outcome, ()) = tokio::join!(bench.run(job().build()), lose);
    let reason = outcome.failure_reason();
    assert_eq!(reason, Some(FailureReason::RunnerSystemFailure));
    let last = provider.stages().pop();
    assert_eq!(last.as_deref(), Some("step_script"));
    let log = bench.log();
    let warning = "after_script does not run: the environment of the job is lost";
    assert_eq!(log.matches(warning).count(), 1, "{log}");
    provider.assert_obeyed();
}
