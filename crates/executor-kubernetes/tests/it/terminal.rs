//! Interactive shells in the pods of jobs, on a real cluster.

use crate::support::{BUSYBOX, Cluster, Opened, Relay, job, open, open_with};
use executor_core::ability::{TerminalRequest, TerminalSession, TerminalSize};
use executor_core::prelude::*;
use executor_testkit::CommandBuilder;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

/// How long an answer may take.
const NOTICE: Duration = Duration::from_mins(1);

async fn session(opened: &Opened) -> Box<dyn TerminalSession> {
    let terminal = opened.executor.abilities().terminal.unwrap();
    let size = TerminalSize {
        columns: 100,
        rows: 30,
    };
    let request = TerminalRequest::new(size)
        .with_title("job test")
        .with_history(vec!["echo the script".to_owned()]);
    let opening = terminal.open(request, &Cancellation::new()).await;
    opening.map_err(|error| error.chain()).unwrap()
}

/// Types a line and reads until the terminal shows `expect`.
async fn type_line(session: &mut Box<dyn TerminalSession>, line: &str, expect: &str) {
    let line = format!("{line}\n");
    session.write_all(line.as_bytes()).await.unwrap();
    session.flush().await.unwrap();
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(expect) {
        let read = timeout(NOTICE, session.read_buf(&mut shown)).await;
        let read = read.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&shown)));
        assert_ne!(read.unwrap(), 0, "{}", String::from_utf8_lossy(&shown));
    }
}

/// Waits until the terminal has this size, which is set by a separate message.
async fn has_size(session: &mut Box<dyn TerminalSession>, size: &str) {
    let line = format!(
        "until [ \"$(stty size)\" = '{size}' ]; do sleep 0.1; done; echo \"is now $(stty size)\""
    );
    type_line(session, &line, &format!("is now {size}")).await;
}

/// Waits until a process runs in the pod, or none does.
async fn runs(cluster: &Cluster, process: &str, expected: bool) {
    let begun = Instant::now();
    while cluster.in_pod("ps").await.contains(process) != expected {
        assert!(begun.elapsed() < NOTICE, "{process}: not {expected}");
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shell_has_the_variables_and_the_directory_of_the_stage() {
    // R-EXEC-65
    let restricted = ("pod-security.kubernetes.io/enforce", "restricted");
    let Some(cluster) = Cluster::with_labels(&[restricted]).await else {
        return;
    };
    let provider = cluster.provider();
    let opened = open(&provider, job(BUSYBOX)).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let make = CommandBuilder::new("mkdir -p /builds/group/project");
    let command = make
        .variable("CI_PROJECT_DIR", "/builds/group/project")
        .variable("OF_THE_JOB", "it's")
        .file("FILE", *b"in it");
    let never = Cancellation::new();
    opened.executor.run(command.build(), &never).await.unwrap();
    let mut session = session(&opened).await;
    type_line(&mut session, "echo $((40+2))", "42").await;
    let line = "echo \"=$OF_THE_JOB=$(cat $FILE)=$TERM=\"";
    type_line(&mut session, line, "=it's=in it=xterm-256color=").await;
    type_line(&mut session, "echo \"<$PWD>\"", "</builds/group/project>").await;
    type_line(&mut session, "rerun", "ended with exit code 0").await;
    has_size(&mut session, "30 100").await;
    let size = TerminalSize {
        columns: 77,
        rows: 11,
    };
    session.resize(size).unwrap();
    has_size(&mut session, "11 77").await;
    let log = cluster.in_pod("cat /proc/[0-9]*/cmdline").await;
    assert!(!log.contains("it's"), "{log}");
    // A process that holds the terminal does not keep it open.
    let line = "sleep 4321 & exit 7\n";
    session.write_all(line.as_bytes()).await.unwrap();
    let ended = timeout(NOTICE, session.ended()).await.unwrap();
    assert_eq!(ended, Some(StageStatus::Exited(ExitCode(7))));
    let mut last = Vec::new();
    session.read_to_end(&mut last).await.unwrap();
    assert!(!last.is_empty());
    assert!(session.resize(size).is_err());
    drop(session);
    runs(&cluster, "sleep 4321", false).await;
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shell_ends_with_its_session() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let relay = Relay::before(&mut cluster).await;
    let provider = cluster.provider();
    let opened = open(&provider, job(BUSYBOX)).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let never = Cancellation::new();
    let make = CommandBuilder::new("mkdir -p /builds/group/project").build();
    opened.executor.run(make, &never).await.unwrap();
    let mut dropped = session(&opened).await;
    let mut cut = session(&opened).await;
    type_line(&mut dropped, "sleep 4321 & echo be''gan", "began").await;
    type_line(&mut cut, "sleep 4322 & echo be''gan", "began").await;
    runs(&cluster, "sleep 4321", true).await;
    runs(&cluster, "sleep 4322", true).await;
    drop(dropped);
    runs(&cluster, "sleep 4321", false).await;
    relay.cut();
    let error = timeout(NOTICE, cut.read_to_end(&mut Vec::new())).await;
    let error = error.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the connection to the pod broke");
    assert_eq!(cut.ended().await, None);
    drop(cut);
    runs(&cluster, "sleep 4322", false).await;
    runs(&cluster, " -i", false).await;
    let left = cluster.in_pod("ls /runwright").await;
    assert!(!left.contains("shell"), "{left}");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shells_of_another_process_end_when_the_job_is_resumed() {
    let Some(cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let (first, second) = (cluster.provider(), cluster.provider());
    let job = job(BUSYBOX);
    let opened = open(&first, job.clone()).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let make = CommandBuilder::new("mkdir -p /builds/group/project").build();
    let never = Cancellation::new();
    opened.executor.run(make, &never).await.unwrap();
    let mut session = session(&opened).await;
    type_line(&mut session, "sleep 4323 & echo be''gan", "began").await;
    let handle = opened.executor.abilities().resumable.unwrap();
    let handle = handle.resume_handle().unwrap();
    drop((opened, session));
    runs(&cluster, "sleep 4323", true).await;
    let data = ExecutorData::default().with(handle);
    let opened = open_with(&second, job, data).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    runs(&cluster, "sleep 4323", false).await;
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}
