use crate::support::{Fixture, config, living, unique_seconds};
use executor_core::ability::{TerminalRequest, TerminalSession, TerminalSize};
use executor_core::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SIZE: TerminalSize = TerminalSize {
    columns: 100,
    rows: 30,
};

async fn open(fixture: &Fixture) -> Box<dyn TerminalSession> {
    let terminal = fixture.executor.terminal().unwrap();
    let request = TerminalRequest::new(SIZE);
    terminal.open(request, &Cancellation::new()).await.unwrap()
}

/// Types a line and reads until the terminal shows `expect`.
async fn type_line(session: &mut Box<dyn TerminalSession>, line: &str, expect: &str) {
    session
        .write_all(format!("{line}\n").as_bytes())
        .await
        .unwrap();
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(expect) {
        assert_ne!(session.read_buf(&mut shown).await.unwrap(), 0, "it ended");
    }
}

#[tokio::test]
async fn what_is_typed_runs_in_the_jobs_world() {
    let mut fixture = Fixture::new(config()).await;
    fixture.set("OF_THE_JOB", "it is");
    fixture.run("true").await;
    let mut session = open(&fixture).await;
    type_line(&mut session, "echo $((40+2))", "42").await;
    type_line(&mut session, "echo \"=$OF_THE_JOB=\"", "=it is=").await;
    type_line(&mut session, "basename \"$PWD\" | tr a-z A-Z", "PROJECT").await;
}

#[tokio::test]
async fn the_shell_knows_the_size() {
    let fixture = Fixture::new(config()).await;
    let mut session = open(&fixture).await;
    type_line(&mut session, "stty size", "30 100").await;
    session
        .resize(TerminalSize {
            columns: 77,
            rows: 11,
        })
        .unwrap();
    type_line(&mut session, "stty size", "11 77").await;
}

#[tokio::test]
async fn the_session_ends_with_its_shell() {
    let fixture = Fixture::new(config()).await;
    let mut session = open(&fixture).await;
    // What it leaves holds the terminal open, and is ended with the shell.
    session
        .write_all(b"sleep 1000 & disown; exit 7\n")
        .await
        .unwrap();
    let mut shown = Vec::new();
    session.read_to_end(&mut shown).await.unwrap();
    let status = Some(StageStatus::Exited(ExitCode(7)));
    assert_eq!(session.ended().await, status);
    assert_eq!(session.ended().await, status);
}

#[tokio::test]
async fn nothing_of_a_session_outlives_the_job() {
    let mut fixture = Fixture::new(config()).await;
    let mut session = open(&fixture).await;
    let seconds = unique_seconds();
    // The child of the shell becomes what is looked for only when it has loaded it.
    let line = format!(
        "sleep {seconds} & until grep -q {seconds} /proc/$!/cmdline; do :; done; echo $((1+1))up"
    );
    type_line(&mut session, &line, "2up").await;
    assert_eq!(living(&seconds), 1);
    fixture.executor.cleanup().await.unwrap();
    assert_eq!(living(&seconds), 0);
    let terminal = fixture.executor.terminal().unwrap();
    let go_on = Cancellation::new();
    let again = terminal.open(TerminalRequest::new(SIZE), &go_on).await;
    assert!(again.is_err());
}
