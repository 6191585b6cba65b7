//! Checks of the state shared by the stages of one job.

use crate::conformance::check::{Outcome, ensure};
use crate::conformance::checks::stop::expect_canceled;
use crate::conformance::session::Session;
use crate::conformance::suite::Suite;
use executor_core::{BuildStage, CancelCause, ExecutorStage, Placement};
use std::fmt::Write;
use std::sync::Arc;

/// Each stage sees the files of earlier stages, in every placement.
pub(in super::super) async fn stages_share_files(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let stages = [
            (BuildStage::GetSources, Placement::Helper),
            (BuildStage::script(), Placement::User),
            (BuildStage::AfterScript, Placement::User),
            (BuildStage::ArchiveCache, Placement::Helper),
        ];
        let mut expect = String::new();
        for (stage, placement) in stages {
            // Writing to a string cannot fail.
            let _ = writeln!(expect, "{stage}");
            let script = format!("echo {stage} >> shared && cat shared");
            let command = session.command(script).stage(stage).placement(placement);
            let printed = session.print(command).await?;
            let printed = String::from_utf8_lossy(&printed);
            ensure!(printed == expect, "expected {expect:?}, got {printed:?}");
        }
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// A script starts in the directory of its command.
pub(in super::super) async fn working_directory(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        session
            .expect("mkdir -p 'a b'; touch 'a b/found'", "")
            .await?;
        let below = format!("{}/a b", session.dirs().project_dir);
        let command = session.command("ls").working_dir(below);
        let printed = session.print(command).await?;
        ensure!(
            printed == b"found\n",
            "the script started in another directory and saw {:?}",
            String::from_utf8_lossy(&printed)
        );
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// `after_script` shares no shell state with the script.
pub(in super::super) async fn after_script_has_a_fresh_shell(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let outcome = async {
        let script = "VARIABLE=1; export EXPORTED=1; leaked() { :; }; alias leaked_too=true\n\
                      set -f; umask 077; touch here; cd /; exit 3";
        let status = session.run(session.command(script)).await?.status;
        ensure!(status.exit_code().0 == 3, "the script ended with {status}");
        let script = "echo \"${VARIABLE-none} ${EXPORTED-none}\"\n\
                      command -v leaked leaked_too && echo leaked\n\
                      echo her*";
        let command = session.command(script).stage(BuildStage::AfterScript);
        let printed = session.print(command).await?;
        let printed = String::from_utf8_lossy(&printed);
        ensure!(
            printed == "none none\nhere\n",
            "expected a fresh shell in the project's directory, got {printed:?}"
        );
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}

/// A scrape sees the current stage while a script runs.
pub(in super::super) async fn stage_is_readable_while_running(suite: Arc<Suite>) -> Outcome {
    let mut session = Session::open(&suite).await?;
    let cell = session.executor.stage_cell();
    let outcome = async {
        let script = format!("echo ready; sleep {}", suite.nap());
        let command = session.command(script);
        let mut busy = None;
        let look = |cancellation: &executor_core::Cancellation| {
            busy = Some(cell.get());
            cancellation.abort(CancelCause::User);
        };
        let stopped = session
            .stop(command, look, suite.options.promptness)
            .await?;
        expect_canceled(stopped, CancelCause::User)?;
        let others = [
            ExecutorStage::CREATED,
            ExecutorStage::PREPARE,
            ExecutorStage::FINISH,
            ExecutorStage::CLEANUP,
        ];
        if let Some(busy) = busy {
            ensure!(
                !others.contains(&busy),
                "while a script runs the stage is {busy}"
            );
        }
        session
            .executor
            .set_current_stage(ExecutorStage::new("testkit"));
        let (current, shown) = (session.executor.current_stage(), cell.get());
        ensure!(
            current.as_str() == "testkit" && shown == current,
            "the stage was set to testkit, the executor reports {current}, its cell {shown}"
        );
        Ok(())
    };
    let outcome = outcome.await;
    session.end(outcome).await
}
