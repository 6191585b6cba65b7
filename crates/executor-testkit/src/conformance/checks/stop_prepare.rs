//! Checks of `cancel` and `abort` around `prepare` and before a stage.

use crate::conformance::check::{Outcome, failed};
use crate::conformance::checks::stop::expect_canceled;
use crate::conformance::leftover_probe::LeftoverProbe;
use crate::conformance::session::{Opening, Session};
use crate::conformance::suite::{Suite, within};
use executor_core::{BuildError, CancelCause, Cancellation, PreparedEnvironment};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

type Stop = fn(&Cancellation);

const STRENGTHS: [Stop; 2] = [
    |cancellation| cancellation.cancel(CancelCause::Shutdown),
    |cancellation| cancellation.abort(CancelCause::Shutdown),
];

/// Fails unless the preparation succeeded or was cancelled.
fn expect_stopped(result: Result<PreparedEnvironment, BuildError>) -> Outcome {
    match result {
        Ok(_) | Err(BuildError::Canceled(CancelCause::Shutdown)) => Ok(()),
        Err(error) => failed(format!("a stopped preparation failed: {}", error.chain())),
    }
}

pub(in super::super) async fn stop_before_prepare(suite: Arc<Suite>) -> Outcome {
    for stop in STRENGTHS {
        let mut opening = Opening::new(&suite).await?;
        let cancellation = Cancellation::new();
        stop(&cancellation);
        let prepare = opening.attempt(&cancellation);
        let prepared = within(suite.options.promptness, "a stopped prepare", prepare).await;
        let outcome = prepared.and_then(|attempt| expect_stopped(attempt?));
        opening.end(outcome).await?;
    }
    Ok(())
}

/// A preparation stopped at any of its steps leaves no resources.
pub(in super::super) async fn stop_during_prepare(suite: Arc<Suite>) -> Outcome {
    let probe = LeftoverProbe::learn(&suite).await?;
    for stop in STRENGTHS {
        // At its first, second, fourth step and so on, until it ends earlier.
        for step in (0..6).map(|power| 1 << power) {
            let mut opening = probe.open().await?;
            let cancellation = Cancellation::new();
            let prepare = opening.attempt(&cancellation);
            let (prepared, was_stopped) = at_step(step, || stop(&cancellation), prepare).await;
            opening.end(prepared.and_then(expect_stopped)).await?;
            probe.expect_nothing("a stopped prepare").await?;
            if !was_stopped {
                break;
            }
        }
    }
    Ok(())
}

/// Awaits `call` and runs `act` at its `step`th poll, if there is one.
async fn at_step<T>(step: u32, act: impl Fn(), call: impl Future<Output = T>) -> (T, bool) {
    let mut call = pin!(call);
    let mut steps = 0;
    let value = poll_fn(|context| {
        steps += 1;
        if steps == step {
            act();
        }
        call.as_mut().poll(context)
    });
    (value.await, steps >= step)
}

/// A stage that is cancelled before its start does not run.
pub(in super::super) async fn stop_before_run(suite: Arc<Suite>) -> Outcome {
    for stop in STRENGTHS {
        let mut session = Session::open(&suite).await?;
        let outcome = async {
            let cancellation = Cancellation::new();
            stop(&cancellation);
            let command = session.command(format!("sleep {}", suite.nap())).build();
            let attempt = session.attempt(command, &cancellation);
            let what = "a stage that was stopped before it began";
            let result = within(suite.after_cancel(), what, attempt).await??;
            expect_canceled(result, CancelCause::Shutdown)
        };
        let outcome = outcome.await;
        session.end(outcome).await?;
    }
    Ok(())
}
