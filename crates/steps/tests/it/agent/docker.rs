//! The static program in containers whose images provide nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use executor_core::{Cancellation, ExitCode, StageStatus};
use process::Stream;
use steps::agent::{ARGV_VARIABLE, serve_command};
use steps::{AgentInfo, ClientOptions, RunId, RunSpec, StepsClient};
use tokio::time::timeout;

use super::container::{Container, DIRECTORY, PROGRAM, docker_output, static_agent};
use super::support::{DEADLINE, errors, eventually};

const TMPFS: [&str; 2] = ["--tmpfs", "/run/agent"];

fn client(container: Container) -> (Arc<Container>, StepsClient) {
    let container = Arc::new(container);
    let connector = Arc::clone(&container);
    (
        container,
        StepsClient::new(connector, ClientOptions::default()),
    )
}

/// Starts the agent as the main process with these options, and returns its description.
async fn hello(options: &[&str], image: &str) -> (Arc<Container>, StepsClient, AgentInfo) {
    let serve = serve_command(PROGRAM, DIRECTORY, None);
    let words: Vec<&str> = serve.iter().map(String::as_str).collect();
    let (container, client) = client(Container::start(options, image, &words));
    let info = client.hello(&Cancellation::new()).await.unwrap();
    (container, client, info)
}

/// Runs a script and returns its standard output.
async fn run(client: &StepsClient, id: &str, script: &str) -> String {
    let run = RunSpec::script(RunId::new(id), script);
    let mut output = Vec::new();
    let mut sink = |stream: Stream, bytes: &[u8]| {
        if stream == Stream::Stdout {
            output.extend_from_slice(bytes);
        }
    };
    let result = client.execute(&run, &mut sink, &Cancellation::new()).await;
    let result = result.unwrap();
    assert!(result.status.is_success(), "{result:?}");
    String::from_utf8(output).unwrap()
}

#[tokio::test]
async fn read_only_image_from_scratch_suffices() {
    // R-STEP-44, R-STEP-45, R-STEP-50
    let options = [TMPFS.as_slice(), &["--read-only"]].concat();
    let (container, _, info) = hello(&options, "runwright-test/scratch:1").await;
    assert_eq!(info.version, static_agent().version());
    assert_eq!((info.pid, info.uid), (1, 0));
    assert!(info.shells.is_empty(), "{info:?}");
    // It shuts down on SIGTERM although it is the first process, which has no default handlers.
    let stopped = docker_output(&["stop", "--time=60", &container.name]);
    assert!(stopped.status.success(), "{}", errors(&stopped));
    let state = docker_output(&["inspect", "--format={{.State.ExitCode}}", &container.name]);
    assert_eq!(state.stdout, b"0\n", "{}", errors(&state));
}

#[tokio::test]
async fn image_with_its_own_user_runs_steps() {
    // The directory belongs to another user, as that of a mount does.
    let options = [
        "--tmpfs",
        "/run/agent:mode=1777",
        "--read-only",
        "--tmpfs=/work:mode=1777",
    ];
    let (container, client, info) = hello(&options, "runwright-test/nonroot:1").await;
    assert_eq!((info.uid, info.gid), (1000, 1000));
    let mode = container.exec(&["stat", "-c", "%u %a", "/run/agent/agent.sock"]);
    assert_eq!(mode.stdout, b"1000 600\n");
    assert_eq!(
        run(&client, "a", "cd /work && id -u && echo x > y && cat y").await,
        "1000\nx\n"
    );
}

#[tokio::test]
async fn full_spool_is_reported_and_the_script_continues() {
    let options = ["--tmpfs", "/run/agent:size=256k"];
    let (_container, client, _) = hello(&options, "runwright-test/busybox:1").await;
    let script = "yes 0123456789 | head -c 1000000; exit 3";
    let full = RunSpec::script(RunId::new("full"), script);
    let mut output = Vec::new();
    let mut sink = |_: Stream, bytes: &[u8]| output.extend_from_slice(bytes);
    let never = Cancellation::new();
    let ended = timeout(DEADLINE, client.execute(&full, &mut sink, &never)).await;
    let result = ended.expect("nothing hangs").unwrap();
    assert_eq!(result.status, StageStatus::Exited(ExitCode(3)));
    assert!(result.log_error.is_some(), "{result:?}");
    // The written part of the log is correct.
    let whole = "0123456789\n".repeat(1_000_000 / 11 + 1).into_bytes();
    let tail = String::from_utf8_lossy(&output[output.len().saturating_sub(200)..]);
    assert!(output.len() < 256 * 1024, "{}", output.len());
    assert!(whole.starts_with(&output), "{tail:?}");
    assert!(!output.is_empty());
    // The disk has room again.
    assert_eq!(run(&client, "small", "echo again").await, "again\n");
}

#[tokio::test]
async fn entry_point_and_its_children_are_not_killed() {
    let root = tempfile::tempdir().unwrap();
    let script = root.path().join("entry");
    // A daemon that leaves its parent and its environment before the agent replaces the script.
    let text =
        "#!/bin/sh\nexport FROM_ENTRY=yes\n(env -i /bin/setsid /bin/sleep 600 &)\nexec \"$@\"\n";
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mount = format!("--volume={}:/entry:ro", script.display());
    let options = [TMPFS.as_slice(), &[&mount, "--entrypoint=/entry"]].concat();
    let (container, client, info) = hello(&options, "runwright-test/busybox:1").await;
    assert_eq!(info.pid, 1);
    assert_eq!(
        run(
            &client,
            "a",
            "echo $FROM_ENTRY; (sleep 0.01 &); (sleep 0.01 &)"
        )
        .await,
        "yes\n"
    );
    // The short processes of the script end by themselves.
    eventually("one sleep is left, which is the daemon", || {
        let daemon = container.exec(&["pidof", "sleep"]).stdout;
        !daemon.is_empty() && daemon.split(|byte| *byte == b' ').count() == 1
    });
    // Orphans of other processes are reaped too.
    let orphans = container.exec(&[
        "sh",
        "-c",
        "i=0; while [ $i -lt 100 ]; do (true &); i=$((i+1)); done",
    ]);
    assert!(orphans.status.success());
    eventually("no dead process is left", || {
        let dead = container.exec(&["sh", "-c", "grep -l '^State:.Z' /proc/[0-9]*/status"]);
        dead.stdout.is_empty()
    });
}

#[tokio::test]
async fn arguments_dropped_by_a_shell_entry_point_are_found() {
    let serve = serve_command(PROGRAM, DIRECTORY, None);
    let variable = serde_json::to_string(&serve[1..]).unwrap();
    let variable = format!("--env={ARGV_VARIABLE}={variable}");
    let options = [TMPFS.as_slice(), &[&variable, "--entrypoint=/bin/sh"]].concat();
    let words = ["-c", PROGRAM, "serve", "--directory", DIRECTORY];
    let (container, client) = client(Container::start(
        &options,
        "runwright-test/busybox:1",
        &words,
    ));
    let left = format!("env | grep -c ^{ARGV_VARIABLE} || true");
    assert_eq!(run(&client, "a", &left).await, "0\n");
    drop(container);
}
