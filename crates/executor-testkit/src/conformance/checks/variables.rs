//! Checks of variables in the environment of a script.

use crate::conformance::check::{Outcome, ensure, failed, skipped};
use crate::conformance::marked;
use crate::conformance::session::Session;
use crate::conformance::suite::Suite;
use executor_core::{BuildStage, Cancellation, TraceStream};
use std::fmt::Write;
use std::sync::Arc;

/// Skips the check when the provider does not support variables.
pub(super) fn ensure_variables(suite: &Suite) -> Outcome {
    if suite.features()?.variables {
        return Ok(());
    }
    skipped("the provider does not report the feature `variables`")
}

const VALUES: &[&str] = &[
    "plain",
    "",
    " around ",
    "it's \"quoted\" \\ twice \\\\",
    "$HOME ${HOME} $(id) `id` $$ $1",
    "first line\nsecond line\n\n",
    "carriage\r\nreturn\ttab",
    "*?[a]{b,c} ~ ; & | < > ( ) #",
    "-n",
    "%s %d %%",
    "a=b=c",
    "größe 日本語 🦀",
    "\u{1b}[31mred\u{1b}[0m \u{7f}",
];

/// Values are passed byte for byte.
pub(in super::super) async fn environment_variables(suite: Arc<Suite>) -> Outcome {
    ensure_variables(&suite)?;
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let mut script = String::new();
        let mut command = session.command("");
        for (number, value) in VALUES.iter().enumerate() {
            command = command.variable(format!("VALUE_{number}"), *value);
            // Writing to a string cannot fail.
            let _ = writeln!(script, "printf '%s|' \"$VALUE_{number}\"");
        }
        let printed = session.print(command.script(script)).await?;
        let expect = format!("{}|", VALUES.join("|"));
        let printed = String::from_utf8_lossy(&printed);
        ensure!(printed == expect, "expected {expect:?}, got {printed:?}");
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// A value of 100 KiB is passed.
pub(in super::super) async fn large_variable(suite: Arc<Suite>) -> Outcome {
    ensure_variables(&suite)?;
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let value = "0123456789abcde\n".repeat(100 * 1024 / 16);
        let command = session.command("printf %s \"$LARGE\"");
        let printed = session
            .print(command.variable("LARGE", value.clone()))
            .await?;
        ensure!(
            printed == value.as_bytes(),
            "{} bytes became {}, or others",
            value.len(),
            printed.len()
        );
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// The list of processes shows no value.
pub(in super::super) async fn variables_stay_out_of_command_lines(suite: Arc<Suite>) -> Outcome {
    ensure_variables(&suite)?;
    let mut session = Session::open(&suite).await?;
    if !session.is_local() {
        session.end(Ok(())).await?;
        return skipped("the processes of a remote environment cannot be listed from here");
    }
    let value = format!("value-{}", suite.mark);
    let outcome = async {
        let script = "echo ready; until [ -e go ]; do sleep 0.1 2>/dev/null || sleep 1; done";
        let command = session.command(script).variable("SECRET", value.clone());
        let go = format!("{}/go", session.dirs().project_dir);
        let trace = session.trace.clone();
        let look = async {
            trace.wait_for(TraceStream::STDOUT, "ready").await;
            let seen = marked::command_lines();
            let opened = std::fs::write(&go, "");
            (seen, opened)
        };
        let go_on = Cancellation::new();
        let run = session.attempt(command.build(), &go_on);
        let ((seen, opened), result) = tokio::join!(
            async {
                tokio::time::timeout(suite.options.deadline, look)
                    .await
                    .unwrap_or((Vec::new(), Ok(())))
            },
            run
        );
        if let Err(error) = opened {
            return failed(format!("create {go}: {error}"));
        }
        ensure!(result?.is_ok(), "the script did not run");
        ensure!(!seen.is_empty(), "no process was listed");
        for line in seen {
            ensure!(
                !line.contains(&value),
                "a command line contains a value: {line}"
            );
        }
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// A stage sees the variables of its command and none of an earlier stage.
pub(in super::super) async fn variables_end_with_their_stage(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let first = session.command("export EXPORTED=1; SET=1; true");
        session.run(first.variable("GIVEN", "1")).await?;
        let script = "echo \"${GIVEN-none} ${EXPORTED-none} ${SET-none}\"";
        let second = session
            .command(script)
            .stage(BuildStage::Step("other".to_owned()));
        expect_none(&session.print(second).await?, "none none none\n")
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// A job sees no variables of an earlier or a concurrent job.
pub(in super::super) async fn variables_end_with_their_job(suite: Arc<Suite>) -> Outcome {
    let mut first = Session::open(&suite).await?;
    let given = first
        .command("export EXPORTED=1; true")
        .variable("GIVEN", "1");
    let outcome = first.run(given).await;
    let beside = if suite.options.has_room_for_one {
        Ok(())
    } else {
        look_for_variables(&suite).await
    };
    first.end(outcome.map(drop)).await?;
    beside?;
    look_for_variables(&suite).await
}

async fn look_for_variables(suite: &Arc<Suite>) -> Outcome {
    let mut session = Session::open(suite).await?;
    let outcome = async {
        let command = session.command("echo \"${GIVEN-none} ${EXPORTED-none}\"");
        expect_none(&session.print(command).await?, "none none\n")
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

fn expect_none(printed: &[u8], expect: &str) -> Outcome {
    let printed = String::from_utf8_lossy(printed);
    ensure!(
        printed == expect,
        "variables leaked: expected {expect:?}, got {printed:?}"
    );
    Ok(())
}
