//! Connections that break.

use crate::support::fault_proxy::FaultProxy;
use crate::support::run::{config, config_through, open};
use crate::support::sshd::Sshd;
use executor_core::ability::{TerminalRequest, TerminalSize};
use executor_core::prelude::*;
use executor_ssh::EngineChoice;
use std::fs;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How many scripts run over cut connections, unless [`MORE`] says another number.
const SCRIPTS: usize = 40;

/// The variable with a number of scripts, for a long run by hand: with 1,200 there are more than 1,000 cuts.
const MORE: &str = "RUNWRIGHT_TEST_SSH_SCRIPTS";

#[tokio::test(flavor = "multi_thread")]
async fn output_is_exact_and_no_script_runs_twice_over_a_bad_connection() {
    // R-EXEC-100
    let number = std::env::var(MORE).map_or(SCRIPTS, |number| number.parse().unwrap());
    let server = Sshd::with("MaxStartups 100\n");
    let proxy = FaultProxy::start(server.port);
    let mut job = open(config(&server, proxy.port, EngineChoice::Agent))
        .await
        .unwrap();
    let ran = server.path("ran");
    let mut expected = String::new();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    let mut script = 0;
    while script < number {
        let lines = 200;
        // A login needs about 3,000 bytes from the host.
        proxy.cut_after(1 + next(8_000));
        let text = format!(
            "echo x >>{}; seq {script} {}",
            ran.display(),
            script + lines
        );
        let result = job.run(&text).await.unwrap();
        assert_eq!(result.status, StageStatus::Exited(ExitCode(0)));
        expected.extend((script..=script + lines).map(|number| format!("{number}\n")));
        script += 1;
    }
    assert_eq!(job.output(), expected);
    assert_eq!(fs::read_to_string(&ran).unwrap().lines().count(), number);
    let cuts = usize::try_from(proxy.cuts()).unwrap();
    assert!(cuts > number / 4, "{cuts} cuts");
    job.executor.cleanup().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_stops_answering_is_reached_again() {
    let server = Sshd::start();
    let mut settings = config(&server, server.port, EngineChoice::Agent);
    settings.keepalive_interval = Some(1);
    let mut job = open(settings).await.unwrap();
    let logins = || server.log().matches("Accepted publickey").count();
    let (started, go) = (server.path("started"), server.path("go"));
    let script = format!(
        ": >{}; until [ -e {} ]; do sleep 0.02; done; echo done",
        started.display(),
        go.display()
    );
    let (ran, ()) = tokio::join!(job.run(&script), async {
        let pause = || tokio::time::sleep(Duration::from_millis(10));
        while !started.exists() {
            pause().await;
        }
        let before = logins();
        server.freeze_sessions();
        while logins() == before {
            pause().await;
        }
        fs::write(go, "").unwrap();
    });
    ran.unwrap();
    assert_eq!(job.output(), "done\n");
    job.executor.cleanup().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_stops_reading_ends_the_writes() {
    let (server, gate) = (Sshd::with("MaxSessions 30\n"), Sshd::start());
    let mut settings = config_through(&server, &gate, EngineChoice::Shell);
    settings.keepalive_interval = Some(1);
    let mut job = open(settings).await.unwrap();
    let project = &job.environment.workspace.dirs().project_dir;
    job.run(&format!("mkdir -p {project}")).await.unwrap();
    let terminal = job.executor.abilities().terminal.unwrap();
    let size = TerminalSize {
        columns: 80,
        rows: 24,
    };
    // More than the window of one channel is necessary to fill the buffers on the way through the jump.
    let mut sessions = Vec::new();
    for _ in 0..24 {
        let request = TerminalRequest::new(size);
        let opened = terminal.open(request, &Cancellation::new()).await;
        sessions.push(opened.unwrap());
    }
    server.freeze_sessions();
    let mut writers = JoinSet::new();
    for mut session in sessions {
        writers.spawn(async move {
            let piece = vec![b'x'; 32 << 10];
            while session.write_all(&piece).await.is_ok() {}
        });
    }
    let ended = timeout(Duration::from_mins(1), writers.join_all()).await;
    ended.expect("the writes must fail");
    job.run("echo again").await.unwrap();
    assert_eq!(job.output(), "again\n");
    job.executor.cleanup().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_stops_between_two_stages_is_reached_again() {
    let server = Sshd::start();
    let mut settings = config(&server, server.port, EngineChoice::Shell);
    // Its keepalives tell nothing before the next stage fails.
    settings.keepalive_interval = Some(600);
    let mut job = open(settings).await.unwrap();
    job.run("echo one").await.unwrap();
    server.freeze_sessions();
    job.run("echo two").await.unwrap();
    assert_eq!(job.output(), "one\ntwo\n");
    job.executor.cleanup().await.unwrap();
}
