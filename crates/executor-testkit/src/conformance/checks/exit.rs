//! Checks of exit codes and signals.

use crate::conformance::check::{Outcome, ensure};
use crate::conformance::session::Session;
use crate::conformance::suite::Suite;
use executor_core::{ExitCode, StageStatus};
use std::sync::Arc;

pub(in super::super) async fn success(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = session.expect("echo hello", "hello\n").await;
    session.end(outcome).await
}

/// Every exit code is reported unchanged.
pub(in super::super) async fn exit_codes(suite: Arc<Suite>) -> Outcome {
    let codes = &suite.options.exit_codes;
    ensure!(
        codes.contains(&0) && codes.contains(&1) && codes.iter().any(|code| *code > 127),
        "SuiteOptions::exit_codes needs 0, 1 and one above 127, where codes meet signals"
    );
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        for code in suite.options.exit_codes.iter().copied() {
            let status = session
                .run(session.command(format!("exit {code}")))
                .await?
                .status;
            expect_code(&format!("exit {code}"), status, i32::from(code))?;
        }
        let unknown = session.command("no-such-command-anywhere");
        let status = session.run(unknown).await?.status;
        expect_code("a command that does not exist", status, 127)
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// A script killed by a signal has failed, with the code a shell would report.
pub(in super::super) async fn signals(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        for (signal, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11)] {
            let script = format!("ulimit -c 0; kill -s {signal} $$; sleep 1; exit 0");
            let status = session.run(session.command(script)).await?.status;
            expect_code(&format!("signal {signal}"), status, 128 + number)?;
        }
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

fn expect_code(what: &str, status: StageStatus, code: i32) -> Outcome {
    ensure!(
        status.exit_code() == ExitCode(code),
        "{what}: expected exit code {code}, got {status}"
    );
    ensure!(
        status.is_success() == (code == 0),
        "{what}: {status} counts as success: {}",
        status.is_success()
    );
    Ok(())
}
