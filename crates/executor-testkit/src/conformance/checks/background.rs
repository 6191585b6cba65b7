//! Checks of processes that outlive their script.

use crate::conformance::check::{Outcome, ensure, skipped};
use crate::conformance::session::Session;
use crate::conformance::suite::{Suite, within};
use executor_core::{CancelCause, Cancellation, StopLevel, TraceStream};
use std::sync::Arc;

/// A stage ends with its script, even while a child process holds the output open.
pub(in super::super) async fn background_child_does_not_delay(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let script = format!("sleep {} & echo done", suite.nap());
        let command = session.command(script);
        let print = session.print(command);
        let what = "a script that left a child in the background";
        let printed = within(suite.options.promptness, what, print).await??;
        ensure!(
            printed == b"done\n",
            "expected \"done\\n\", got {:?}",
            String::from_utf8_lossy(&printed)
        );
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// After cleanup no process of the job runs: after success, after `cancel`, after `abort`.
pub(in super::super) async fn cleanup_leaves_no_processes(suite: Arc<Suite>) -> Outcome {
    let nap = suite.nap();
    let mut session = Session::open(&suite).await?;
    let command = session.command(format!("sleep {nap} >/dev/null 2>&1 & echo done"));
    let outcome = session.run(command).await.map(drop);
    expect_nothing("success", &session.end_and_look(outcome).await?)?;

    for how in [StopLevel::Cancel, StopLevel::Abort] {
        let stop = |cancellation: &Cancellation| match how {
            StopLevel::Abort => cancellation.abort(CancelCause::User),
            _ => cancellation.cancel(CancelCause::User),
        };
        let mut session = Session::open(&suite).await?;
        let command = session.command(format!("(sleep {nap}; true) & echo ready; sleep {nap}"));
        let stopped = session.stop(command, stop, suite.after_cancel()).await;
        let left = session.end_and_look(stopped.map(drop)).await?;
        expect_nothing(&format!("{how:?}"), &left)?;
    }
    Ok(())
}

/// The same holds for processes outside the script's process group.
pub(in super::super) async fn detached_children_are_ended(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    if !suite.can_look(session.is_local()) {
        session.end(Ok(())).await?;
        return skipped("the processes of a remote environment cannot be listed from here");
    }
    // The substitution ends when the child runs in its own session.
    let script = format!(
        "command -v setsid >/dev/null || {{ echo none; exit 0; }}\n\
         echo \"$(setsid sh -c 'sleep {} >/dev/null 2>&1 & echo done')\"",
        suite.nap()
    );
    let outcome = session.run(session.command(script)).await.map(drop);
    let has_setsid = session.trace.text(TraceStream::STDOUT) != "none\n";
    expect_nothing("success", &session.end_and_look(outcome).await?)?;
    if !has_setsid {
        return skipped("the environment has no setsid");
    }
    Ok(())
}

fn expect_nothing(how: &str, left: &[String]) -> Outcome {
    ensure!(
        left.is_empty(),
        "resources remain after {how}: {}",
        left.join("; ")
    );
    Ok(())
}
