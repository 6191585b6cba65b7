//! A job goes on while parts of the real cluster suffer.

use crate::support::{BUSYBOX, Cluster, Opened, job, node_program, open};
use executor_core::TraceStream;
use executor_core::prelude::*;
use executor_testkit::{CommandBuilder, RecordingTrace};
use std::process::Command;
use std::time::Duration;

/// How long a part of the cluster is silent: longer than a connection may be before it is given up.
const SILENCE: Duration = Duration::from_secs(12);

/// Counts until another process ends it.
pub(crate) const COUNT: &str =
    "i=0; until [ -e /builds/enough ]; do i=$((i + 1)); echo $i; sleep 0.05; done";

/// Runs a job that counts, hurts the cluster when it has begun, and checks that each number is in the log once.
pub(crate) async fn count_through(hurt: impl AsyncFnOnce(&Cluster)) {
    let Some(cluster) = Cluster::alone().await else {
        return;
    };
    count_in(&cluster, async |_| hurt(&cluster).await).await;
    cluster.end().await;
}

/// Runs a job that counts, does something when it has begun, and checks that each number is in the log once.
pub(crate) async fn count_in(cluster: &Cluster, hurt: impl AsyncFnOnce(&RecordingTrace)) {
    let provider = cluster.provider();
    let opened = open(&provider, job(BUSYBOX)).await;
    let mut opened = opened.map_err(|it| it.0.chain()).unwrap();
    let command = CommandBuilder::new(COUNT).build();
    let (trace, never) = (opened.trace.clone(), Cancellation::new());
    let suffering = async {
        trace.wait_for(TraceStream::STDOUT, "\n10\n").await;
        hurt(&trace).await;
        let counted = last(&trace.text(TraceStream::STDOUT));
        trace
            .wait_for(TraceStream::STDOUT, &format!("\n{}\n", counted + 100))
            .await;
        cluster.in_pod("touch /builds/enough").await;
    };
    let (ran, ()) = tokio::join!(opened.executor.run(command, &never), suffering);
    let ran = ran.map_err(|error| error.chain()).unwrap();
    assert_eq!(ran.status.exit_code().0, 0);
    assert_counted(&opened);
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
}

fn last(log: &str) -> usize {
    let complete = log.rsplit_once('\n').map_or("", |(lines, _)| lines);
    complete.lines().last().map_or(0, |it| it.parse().unwrap())
}

fn assert_counted(opened: &Opened) {
    let log = opened.stdout();
    let counted: Vec<usize> = log.lines().map(|it| it.parse().unwrap()).collect();
    let expected: Vec<usize> = (1..=counted.len()).collect();
    assert_eq!(counted, expected);
}

pub(crate) fn run(program: &str, words: &[&str]) {
    #[expect(clippy::disallowed_methods, reason = "a tool of the system")]
    let done = Command::new(program).args(words).status();
    assert!(done.unwrap().success(), "{program} {words:?}");
}

fn signal(program: &str, signal: &str) {
    run("kill", &[signal, &node_program(program).to_string()]);
}

async fn freeze(program: &str) {
    freeze_for(program, SILENCE).await;
}

pub(crate) async fn freeze_for(program: &str, silence: Duration) {
    signal(program, "-STOP");
    tokio::time::sleep(silence).await;
    signal(program, "-CONT");
}

#[tokio::test(flavor = "multi_thread")]
async fn log_has_no_gap_when_the_api_server_starts_again() {
    // R-STEP-54
    count_through(async |_| signal("kube-apiserver", "-KILL")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_has_no_gap_when_the_api_server_is_silent() {
    // R-STEP-54
    count_through(async |_| freeze("kube-apiserver").await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_has_no_gap_when_the_kubelet_is_silent() {
    count_through(async |_| freeze("kubelet").await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_has_no_gap_when_the_container_runtime_is_killed() {
    count_through(async |_| signal("containerd", "-KILL")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_has_no_gap_when_packets_are_dropped() {
    count_through(async |cluster| {
        let address = cluster.address();
        let route = |verb| run("ip", &["route", verb, "blackhole", &address]);
        route("add");
        tokio::time::sleep(SILENCE).await;
        route("del");
    })
    .await;
}
