//! Checks of `cancel` and `abort` while a stage runs.

use crate::conformance::check::{Outcome, ensure, failed};
use crate::conformance::session::{Opening, Session};
use crate::conformance::suite::Suite;
use executor_core::{
    BuildError, BuildStage, CancelCause, Cancellation, Placement, StageResult, TraceStream,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Returns all stages that an executor may receive as a script.
fn stages() -> Vec<BuildStage> {
    vec![
        BuildStage::PrepareScript,
        BuildStage::GetSources,
        BuildStage::ClearWorktree,
        BuildStage::RestoreCache,
        BuildStage::DownloadArtifacts,
        BuildStage::script(),
        BuildStage::Step("release".to_owned()),
        BuildStage::AfterScript,
        BuildStage::ArchiveCache,
        BuildStage::ArchiveCacheOnFailure,
        BuildStage::UploadArtifactsOnSuccess,
        BuildStage::UploadArtifactsOnFailure,
        BuildStage::CleanupFileVariables,
    ]
}

fn cancel(cancellation: &Cancellation) {
    cancellation.cancel(CancelCause::User);
}

fn abort(cancellation: &Cancellation) {
    cancellation.abort(CancelCause::Source);
}

/// Fails unless `run` returned `Canceled` with this cause.
pub(super) fn expect_canceled(
    result: Result<StageResult, BuildError>,
    cause: CancelCause,
) -> Outcome {
    match result {
        Err(BuildError::Canceled(reported)) if reported == cause => Ok(()),
        Err(BuildError::Canceled(reported)) => {
            failed(format!("it was stopped {cause} and reports {reported}"))
        }
        Err(error) => failed(format!("a stopped stage failed: {}", error.chain())),
        Ok(result) => failed(format!("a stopped stage has a result: {}", result.status)),
    }
}

pub(in super::super) async fn cancel_in_each_stage(suite: Arc<Suite>) -> Outcome {
    in_each_stage(&suite, cancel, CancelCause::User).await
}

pub(in super::super) async fn abort_in_each_stage(suite: Arc<Suite>) -> Outcome {
    in_each_stage(&suite, abort, CancelCause::Source).await
}

/// Stops each stage in a separate job; runs at most `SuiteOptions::jobs` of them at once.
async fn in_each_stage(suite: &Arc<Suite>, stop: fn(&Cancellation), cause: CancelCause) -> Outcome {
    let at_once = usize::try_from(suite.options.jobs).unwrap_or(usize::MAX);
    for some in stages().chunks(at_once.max(1)) {
        let mut jobs = JoinSet::new();
        for stage in some.iter().cloned() {
            let suite = Arc::clone(suite);
            jobs.spawn(async move { in_stage(&suite, stage, stop, cause).await });
        }
        let mut ended = Ok(());
        while let Some(job) = jobs.join_next().await {
            // All jobs are awaited, even after a failure.
            ended = ended.and(job.unwrap_or_else(|panic| failed(panic.to_string())));
        }
        ended?;
    }
    Ok(())
}

async fn in_stage(
    suite: &Arc<Suite>,
    stage: BuildStage,
    stop: fn(&Cancellation),
    cause: CancelCause,
) -> Outcome {
    let mut session = Session::open(suite).await?;
    let outcome = async {
        let placement = if stage.is_user_code() {
            Placement::User
        } else {
            Placement::Helper
        };
        let script = format!("echo ready; sleep {}; echo survived", suite.nap());
        let command = session.command(script).stage(stage.clone());
        let command = command.placement(placement);
        let stopped = session.stop(command, stop, suite.after_cancel()).await?;
        expect_canceled(stopped, cause)?;
        let printed = session.trace.text(TraceStream::STDOUT);
        ensure!(printed == "ready\n", "the script continued: {printed:?}");
        Ok(())
    };
    let outcome: Outcome = outcome.await;
    let ended = session.end(outcome).await;
    ended.map_err(|stop| stop.of(&stage))
}

/// A stage stopped by a timeout reports the timeout.
pub(in super::super) async fn timeout(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let command = session.command(format!("echo ready; sleep {}", suite.nap()));
        let time_is_up = |cancellation: &Cancellation| cancellation.cancel(CancelCause::Timeout);
        let stopped = session
            .stop(command, time_is_up, suite.after_cancel())
            .await?;
        expect_canceled(stopped, CancelCause::Timeout)
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// A cancelled script can clean up: it receives TERM and a grace period.
pub(in super::super) async fn cancel_terminates_first(suite: Arc<Suite>) -> Outcome {
    let grace = Duration::from_secs(30);
    let mut session = Opening::new(&suite)
        .await?
        .with_grace(grace)
        .prepare()
        .await?;
    let outcome = async {
        let script = "trap 'sleep 1; echo tidy; exit 0' TERM; echo ready\n\
                      while :; do sleep 1; done";
        let command = session.command(script);
        let limit = grace + suite.options.promptness;
        let stopped = session.stop(command, cancel, limit).await?;
        let printed = session.trace.text(TraceStream::STDOUT);
        ensure!(
            printed == "ready\ntidy\n",
            "the script could not clean up: {printed:?}"
        );
        expect_canceled(stopped, CancelCause::User)
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// A script that ignores TERM is killed after the grace period.
pub(in super::super) async fn cancel_kills_after_the_grace_period(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let command = session.command(stubborn(&suite));
        let stopped = session.stop(command, cancel, suite.after_cancel()).await?;
        expect_canceled(stopped, CancelCause::User)
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// `abort` kills at once, without the grace period.
pub(in super::super) async fn abort_does_not_wait(suite: Arc<Suite>) -> Outcome {
    let mut session = Opening::new(&suite)
        .await?
        .with_grace(long_grace(&suite))
        .prepare()
        .await?;
    let outcome = async {
        let command = session.command(stubborn(&suite));
        let stopped = session
            .stop(command, abort, suite.options.promptness)
            .await?;
        expect_canceled(stopped, CancelCause::Source)
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// `abort` ends the grace period of an earlier `cancel`; the first cause counts.
pub(in super::super) async fn abort_overtakes_cancel(suite: Arc<Suite>) -> Outcome {
    let mut session = Opening::new(&suite)
        .await?
        .with_grace(long_grace(&suite))
        .prepare()
        .await?;
    let outcome = async {
        let command = session.command(stubborn(&suite)).build();
        let trace = session.trace.clone();
        let cancellation = Cancellation::new();
        let stopper = async {
            trace.wait_for(TraceStream::STDOUT, "ready").await;
            cancellation.cancel(CancelCause::User);
            // Long enough for the executor to wait for the process.
            tokio::time::sleep(Duration::from_millis(200)).await;
            cancellation.abort(CancelCause::Shutdown);
        };
        let (result, ()) = tokio::join!(session.attempt(command, &cancellation), async {
            // Without output the attempt ends at its own deadline.
            let _ = tokio::time::timeout(suite.options.deadline, stopper).await;
        });
        expect_canceled(result?, CancelCause::User)
    };
    // Shorter than the deadline of a call, so that only the abort can end it in time.
    let limit = suite.options.promptness + Duration::from_secs(5);
    let outcome = match tokio::time::timeout(limit, outcome).await {
        Ok(outcome) => outcome,
        Err(_) => failed("run continued after an abort that followed a cancel"),
    };
    session.end(outcome).await
}

/// A cancelled job still runs its `after_script` in the same environment.
pub(in super::super) async fn after_script_runs_after_cancel(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let script = format!("echo kept > kept; echo ready; sleep {}", suite.nap());
        let command = session.command(script);
        session
            .stop(command, cancel, suite.after_cancel())
            .await?
            .err();
        let command = session
            .command("cat kept")
            .stage(BuildStage::AfterScript)
            .build();
        session.trace.clear();
        match session.attempt(command, &Cancellation::new()).await? {
            Ok(result) => {
                ensure!(
                    result.status.is_success(),
                    "after_script ended with {}",
                    result.status
                );
                let printed = session.trace.text(TraceStream::STDOUT);
                ensure!(printed == "kept\n", "after_script saw {printed:?}");
                Ok(())
            }
            // The contract lets an executor refuse, but not with a temporary error.
            Err(error) if !error.is_temporary() => Ok(()),
            Err(error) => failed(format!("after_script: {}", error.chain())),
        }
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// Returns a grace period longer than any check.
fn long_grace(suite: &Suite) -> Duration {
    2 * suite.options.promptness + Duration::from_mins(30)
}

fn stubborn(suite: &Suite) -> String {
    format!("trap '' TERM; echo ready; sleep {}", suite.nap())
}
