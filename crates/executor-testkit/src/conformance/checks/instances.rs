//! Checks of several executors of one provider.

use crate::conformance::check::{Outcome, Stop, ensure, failed};
use crate::conformance::session::Session;
use crate::conformance::suite::Suite;
use executor_core::ExecutorStage;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Executors do not affect each other.
pub(in super::super) async fn instances_are_independent(suite: Arc<Suite>) -> Outcome {
    let mut first = Session::open(&suite).await?;
    let mut second = match Session::open(&suite).await {
        Ok(second) => second,
        Err(stop) => return first.end(Err(stop)).await,
    };
    let outcome = async {
        second
            .executor
            .set_current_stage(ExecutorStage::new("second"));
        first
            .executor
            .set_current_stage(ExecutorStage::new("first"));
        let stage = second.executor.current_stage();
        ensure!(
            stage.as_str() == "second",
            "two executors share their stage"
        );
        first
            .expect("echo first > file; cat file", "first\n")
            .await?;
        second
            .expect("ls; echo second > file; cat file", "second\n")
            .await?;
        let strange = second.trace.all();
        ensure!(
            !strange.windows(5).any(|text| text == b"first"),
            "the log of one job contains output of another"
        );
        first.expect("cat file", "first\n").await
    };
    let outcome = outcome.await;
    let ended = first.end(outcome).await;
    let outcome = match ended {
        // The second executor continues after the first one has ended.
        Ok(()) => second.expect("cat file", "second\n").await,
        Err(stop) => Err(stop),
    };
    second.end(outcome).await
}

/// Concurrent jobs have their own files, variables and logs.
pub(in super::super) async fn many_jobs_at_once(suite: Arc<Suite>) -> Outcome {
    ensure!(
        suite.options.jobs >= 2,
        "SuiteOptions::jobs is {}, expected at least 2",
        suite.options.jobs
    );
    let mut jobs = JoinSet::new();
    for number in 0..suite.options.jobs {
        let suite = Arc::clone(&suite);
        jobs.spawn(async move { one_of_many(&suite, number).await });
    }
    let mut wrong = Vec::new();
    while let Some(job) = jobs.join_next().await {
        match job {
            Ok(Ok(())) => {}
            Ok(Err(Stop::Failed(reason) | Stop::Skipped(reason))) => wrong.push(reason),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    match wrong.first() {
        None => Ok(()),
        Some(first) => failed(format!(
            "{} of {} jobs failed, one with {first}",
            wrong.len(),
            suite.options.jobs
        )),
    }
}

async fn one_of_many(suite: &Arc<Suite>, number: u32) -> Outcome {
    let mut session = Session::open(suite).await?;
    let outcome = async {
        for round in 0..3 {
            let script = "echo \"$NUMBER\" >> file; echo \"$NUMBER\" >&2; cat file";
            let command = session
                .command(script)
                .variable("NUMBER", number.to_string());
            let printed = session.print(command).await?;
            let expect = format!("{number}\n").repeat(round + 1);
            let printed = String::from_utf8_lossy(&printed);
            ensure!(
                printed == expect,
                "job {number} expected {expect:?}, got {printed:?}"
            );
        }
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}
