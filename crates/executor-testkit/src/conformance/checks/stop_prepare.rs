//! `cancel` and `abort` around `prepare`, and before a stage has begun.

use crate::conformance::aftermath::Aftermath;
use crate::conformance::check::{Outcome, failed};
use crate::conformance::checks::stop::expect_canceled;
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

/// A preparation may be done before it sees the request, but it must not fail in another way.
fn expect_stopped(result: Result<PreparedEnvironment, BuildError>) -> Outcome {
    match result {
        Ok(_) | Err(BuildError::Canceled(CancelCause::Shutdown)) => Ok(()),
        Err(error) => failed(format!("a stopped preparation says: {}", error.chain())),
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

/// A preparation may be stopped at any of its steps, and then leaves nothing behind either.
pub(in super::super) async fn stop_during_prepare(suite: Arc<Suite>) -> Outcome {
    let aftermath = Aftermath::learn(&suite).await?;
    for stop in STRENGTHS {
        // At its first step, its second, its fourth, until it is done before.
        for step in (0..6).map(|power| 1 << power) {
            let mut opening = aftermath.open().await?;
            let cancellation = Cancellation::new();
            let prepare = opening.attempt(&cancellation);
            let (prepared, was_stopped) = at_step(step, || stop(&cancellation), prepare).await;
            opening.end(prepared.and_then(expect_stopped)).await?;
            aftermath.expect_nothing("a stopped prepare").await?;
            if !was_stopped {
                break;
            }
        }
    }
    Ok(())
}

/// Awaits a call and does something when it is polled for the `step`th time, if it ever is.
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

/// A stage that is cancelled before it begins does not go on.
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
