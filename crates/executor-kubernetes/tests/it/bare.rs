//! Jobs without the agent, on a real cluster.

use crate::support::{BUSYBOX, Cluster, Opened, Relay, job, node_program, open};
use executor_core::prelude::*;
use executor_core::{CancelCause, TraceStream};
use executor_kubernetes::{EngineChoice, PodSpecPatch, VolumeConfig};
use executor_testkit::CommandBuilder;
use kube::api::ListParams;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const LINE: &str = "The job runs without the agent: ";

async fn opened(cluster: &Cluster) -> Opened {
    let provider = cluster.provider();
    let opened = open(&provider, job(BUSYBOX)).await;
    opened.map_err(|it| it.0.chain()).unwrap()
}

async fn close(cluster: Cluster, mut opened: Opened) {
    opened.executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

impl Opened {
    fn log(&self) -> String {
        String::from_utf8(self.trace.all()).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stages_have_their_exit_codes_and_streams_and_the_log_says_it_once() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.engine = EngineChoice::Exec;
    let mut opened = opened(&cluster).await;
    let script = "echo \"$A\"; cat \"$F\"; grep -c 'a [s]ecret' /proc/*/cmdline | grep -v :0; \
                  echo error >&2; ls /runwright; exit 7";
    for _ in 0..2 {
        let command = CommandBuilder::new(script)
            .variable("A", "a secret")
            .file("F", *b"\\0'% file\n");
        let never = Cancellation::new();
        let ran = opened.executor.run(command.build(), &never).await;
        let ran = ran.map_err(|error| error.chain()).unwrap();
        assert_eq!(ran.status.exit_code().0, 7);
    }
    assert_eq!(opened.stdout(), "a secret\n\\0'% file\nalive\n".repeat(2));
    assert_eq!(opened.trace.text(TraceStream::STDERR), "error\n".repeat(2));
    let log = opened.log();
    assert_eq!(log.matches(LINE).count(), 1, "{log}");
    // The user chose it.
    let warnings = opened.trace.text(TraceStream::SYSTEM_WARNING);
    assert_eq!(warnings, "");
    let abilities = opened.executor.abilities();
    assert!(abilities.resumable.is_none());
    // `tar` refuses it, and the rest of it is larger than all buffers.
    let archive = Box::new(std::io::Cursor::new(vec![7; 8 << 20]));
    let (files, never) = (abilities.file_transfer.unwrap(), Cancellation::new());
    let put = files.put("/builds/files", archive, &never).await;
    let text = put.unwrap_err().chain();
    assert!(text.contains("tar: "), "{text}");
    Box::pin(close(cluster, opened)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_processor_is_detected() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    // Busybox's shell has a command `uname`, so the path is searched for a shell with another one.
    let shell = r#"#!/bin/sh
[ "$1" = -c ] || exec /bin/sh "$@"
script=$2
shift 2
exec /bin/sh -c "uname() { echo s390x; }
$script" "$@""#;
    let write = format!("printf %s '{shell}' > /runwright/sh; chmod 755 /runwright/sh");
    let patch = serde_json::json!({ "containers": [{
        "name": "build",
        "env": [{ "name": "PATH", "value": "/runwright:/bin" }],
        "lifecycle": { "postStart": { "exec": { "command": ["sh", "-c", write] } } },
    }]});
    cluster.config.pod_spec = vec![PodSpecPatch {
        patch: Some(patch.to_string()),
        ..PodSpecPatch::default()
    }];
    let mut opened = opened(&cluster).await;
    let command = CommandBuilder::new("ls /runwright").build();
    let ran = opened.executor.run(command, &Cancellation::new()).await;
    ran.map_err(|error| error.chain()).unwrap();
    assert_eq!(opened.stdout(), "alive\nsh\n");
    let log = opened.log();
    assert!(log.contains("the container for s390x"), "{log}");
    opened.executor.cleanup().await.unwrap();
    cluster.config.engine = EngineChoice::Agent;
    let provider = cluster.provider();
    let Err((error, mut executor)) = open(&provider, job(BUSYBOX)).await else {
        panic!("it was prepared");
    };
    let text = error.chain();
    assert!(text.contains("no agent can run in the pod"), "{text}");
    assert!(!error.is_temporary());
    executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

/// Runs a command where the node has its file systems.
fn in_node(words: &[&str]) {
    let node = node_program("kubelet").to_string();
    #[expect(clippy::disallowed_methods, reason = "a tool of the system")]
    let mut command = Command::new("nsenter");
    command.args(["-m", "-t", &node]).args(words);
    assert!(command.status().unwrap().success(), "{words:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn volume_without_execution_of_programs_is_detected() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("noexec");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.to_str().unwrap();
    in_node(&[
        "mount",
        "-t",
        "tmpfs",
        "-o",
        "noexec,mode=1777",
        "noexec",
        path,
    ]);
    cluster.config.volumes.host_path = vec![VolumeConfig {
        name: "noexec".to_owned(),
        mount_path: "/runwright".to_owned(),
        host_path: Some(path.to_owned()),
        ..VolumeConfig::default()
    }];
    let mut opened = opened(&cluster).await;
    let command = CommandBuilder::new("echo runs").build();
    let ran = opened.executor.run(command, &Cancellation::new()).await;
    ran.map_err(|error| error.chain()).unwrap();
    assert_eq!(opened.stdout(), "runs\n");
    let log = opened.log();
    assert!(log.contains("the agent does not start there"), "{log}");
    Box::pin(close(cluster, opened)).await;
    in_node(&["umount", path]);
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_that_cannot_be_written_is_an_error_at_once() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.volumes.empty_dir = vec![VolumeConfig {
        name: "small".to_owned(),
        mount_path: "/runwright".to_owned(),
        medium: Some("Memory".to_owned()),
        size_limit: Some("1Mi".to_owned()),
        ..VolumeConfig::default()
    }];
    let provider = cluster.provider();
    let Err((error, mut executor)) = open(&provider, job(BUSYBOX)).await else {
        panic!("it was prepared");
    };
    let text = error.chain();
    let expected = "the agent cannot be written to /runwright: dd: ";
    assert!(text.contains(expected), "{text}");
    executor.cleanup().await.unwrap();
    assert_eq!(cluster.left().await, Vec::<String>::new());
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_terminates_and_kills_the_tree() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.engine = EngineChoice::Exec;
    let mut opened = opened(&cluster).await;
    let script = "trap 'echo terminated' TERM; setsid sh -c \"trap '' TERM; sleep 301; sleep 302\" & \
                  sleep 303 & echo begun; while :; do sleep 304; done";
    let command = CommandBuilder::new(script).build();
    let (trace, cancellation) = (Arc::clone(&opened.trace), Cancellation::new());
    let cancel = async {
        trace.wait_for(TraceStream::STDOUT, "begun").await;
        cancellation.cancel(CancelCause::User);
    };
    let (ran, ()) = tokio::join!(opened.executor.run(command, &cancellation), cancel);
    let error = ran.unwrap_err();
    assert!(matches!(error, BuildError::Canceled(CancelCause::User)));
    assert_eq!(opened.stdout(), "begun\nterminated\n");
    let left = cluster.in_pod("ps | grep 'sleep 3' | grep -v grep || :");
    assert_eq!(left.await, "");
    // The next stage runs.
    let command = CommandBuilder::new("echo after").build();
    let ran = opened.executor.run(command, &Cancellation::new()).await;
    ran.map_err(|error| error.chain()).unwrap();
    Box::pin(close(cluster, opened)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_connection_is_an_error_and_ends_the_pod() {
    let Some(mut cluster) = Cluster::with_labels(&[]).await else {
        return;
    };
    cluster.config.engine = EngineChoice::Exec;
    let relay = Relay::before(&mut cluster).await;
    let mut opened = opened(&cluster).await;
    let command = CommandBuilder::new("echo begun; sleep 3; exit 0").build();
    let (trace, never) = (Arc::clone(&opened.trace), Cancellation::new());
    let cut = async {
        trace.wait_for(TraceStream::STDOUT, "begun").await;
        relay.cut();
    };
    let (ran, ()) = tokio::join!(opened.executor.run(command, &never), cut);
    let error = ran.unwrap_err();
    let text = error.chain();
    assert!(text.contains("the connection to a script broke"), "{text}");
    assert!(!error.is_temporary());
    let ended = async {
        let pods = cluster.pods();
        loop {
            let list = pods.list(&ListParams::default()).await.unwrap();
            let status = list.items[0].status.clone().unwrap();
            if status.phase.as_deref() == Some("Failed") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), ended);
    ended.await.unwrap();
    Box::pin(close(cluster, opened)).await;
}
