//! Interactive shells in a job's container.

use crate::support::NOTICE;
use crate::support::runner::{BUSYBOX, NONROOT, Opened, Run, job, settings};
use executor_core::ability::{TerminalRequest, TerminalSession, TerminalSize};
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_testkit::CommandBuilder;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SIZE: TerminalSize = TerminalSize {
    columns: 100,
    rows: 30,
};

fn exec() -> DockerConfig {
    DockerConfig {
        engine: EngineChoice::Exec,
        ..settings()
    }
}

async fn session(opened: &Opened) -> Box<dyn TerminalSession> {
    let terminal = opened.executor.abilities().terminal.unwrap();
    let request = TerminalRequest::new(SIZE).with_title("job test");
    terminal.open(request, &Cancellation::new()).await.unwrap()
}

/// Types a line and reads until the terminal shows `expect`.
async fn type_line(session: &mut Box<dyn TerminalSession>, line: &str, expect: &str) {
    session
        .write_all(format!("{line}\n").as_bytes())
        .await
        .unwrap();
    session.flush().await.unwrap();
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(expect) {
        let read = tokio::time::timeout(NOTICE, session.read_buf(&mut shown)).await;
        let read = read.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&shown)));
        assert_ne!(read.unwrap(), 0, "it ended");
    }
}

/// Waits until the terminal has this size, which is set by a separate call.
async fn has_size(session: &mut Box<dyn TerminalSession>, size: &str) {
    let line = format!(
        "until [ \"$(stty size)\" = '{size}' ]; do sleep 0.1; done; echo \"is now $(stty size)\""
    );
    type_line(session, &line, &format!("is now {size}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_input_runs_in_the_jobs_container() {
    // R-EXEC-65
    let run = Run::new(exec());
    let mut opened = run.open(job(NONROOT)).await;
    let project = opened.environment.workspace.dirs().project_dir.clone();
    let command = CommandBuilder::new("true").variable("OF_THE_JOB", "it is");
    opened.run(command.working_dir(&project)).await.unwrap();
    let mut session = session(&opened).await;
    type_line(&mut session, "echo $((40+2))", "42").await;
    type_line(&mut session, "echo \"=$OF_THE_JOB=\"", "=it is=").await;
    type_line(&mut session, "echo \"<$PWD>\"", &format!("<{project}>")).await;
    has_size(&mut session, "30 100").await;
    session
        .resize(TerminalSize {
            columns: 77,
            rows: 11,
        })
        .unwrap();
    has_size(&mut session, "11 77").await;
    session.write_all(b"exit 7\n").await.unwrap();
    let ended = tokio::time::timeout(NOTICE, session.ended()).await;
    assert_eq!(ended.unwrap(), Some(StageStatus::Exited(ExitCode(7))));
    drop(session);
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_ends_with_its_session() {
    let run = Run::new(exec());
    let mut opened = run.open(job(BUSYBOX)).await;
    let mut session = session(&opened).await;
    type_line(&mut session, "sleep 4321 & echo be''gan", "began").await;
    let begun = std::time::Instant::now();
    while !opened.print("ps").await.contains("sleep 4321") {
        assert!(begun.elapsed() < NOTICE, "it does not begin");
    }
    drop(session);
    let begun = std::time::Instant::now();
    while opened.print("ps").await.contains("sleep 4321") {
        assert!(begun.elapsed() < NOTICE, "it lives on");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
}
