//! Start, input, output and end of processes.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use process::{
    Command, Containment, Ended, ExitStatus, NeverStop, OutputSink, ProcessError, Stdin, Stream,
    Timing,
};

use crate::support::{BOTH, PATIENCE, run, run_with, sh, supervisor, tree, until};

#[tokio::test]
async fn exit_codes_are_returned() {
    for containment in BOTH {
        let tree = tree(containment);
        for code in [0, 1, 2, 3, 126, 127, 255] {
            let (outcome, _) = run(&tree, &sh(&format!("exit {code}"))).await;
            assert_eq!(outcome.status, ExitStatus::Exited(code));
            assert_eq!(outcome.ended, Ended::ByItself);
            assert_eq!(outcome.success(), code == 0);
        }
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn signals_are_returned() {
    for containment in BOTH {
        let tree = tree(containment);
        for signal in [1, 2, 6, 9, 13, 15] {
            let (outcome, _) = run(&tree, &sh(&format!("ulimit -c 0; kill -{signal} $$"))).await;
            let expected = ExitStatus::Signaled {
                signal,
                core_dumped: false,
            };
            assert_eq!(outcome.status, expected);
            assert_eq!(outcome.status.shell_code(), 128 + signal);
        }
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn error_follows_the_output_before_it() {
    let tree = tree(BOTH[0]);
    let directory = tempfile::tempdir().unwrap();
    // The shell stays until both were read: what an ended one left is read at once.
    let script =
        "echo command; echo error >&2; mkdir written$1; until [ -e read$1 ]; do sleep 0.01; done";
    for number in 0..20 {
        let mut order = Vec::new();
        let read = directory.path().join(format!("read{number}"));
        let mut sink = |stream: Stream, _: &[u8]| {
            order.push(stream);
            if order.len() == 2 {
                fs::write(&read, "").unwrap();
            }
        };
        let command = Command::new("sh")
            .args(["-c", script, "sh", &number.to_string()])
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(directory.path());
        let process = tree.spawn(&command).unwrap();
        let written = directory.path().join(format!("written{number}"));
        until("both streams to be readable", || written.exists()).await;
        let timing = Timing::default();
        let ended = process.run(&mut sink, &NeverStop, &timing).await;
        assert!(ended.unwrap().success());
        assert_eq!(order, [Stream::Stdout, Stream::Stderr]);
    }
    tree.close().await.unwrap();
}

#[tokio::test]
async fn streams_are_separate_and_environment_is_exact() {
    for containment in BOTH {
        let tree = tree(containment);
        let script = "echo out; echo err >&2; env | cut -d= -f1 | sort; pwd";
        let command = sh(script).env("GREETING", "hello").current_dir("/usr");
        let (outcome, output) = run(&tree, &command).await;
        assert!(outcome.success());
        let expected = "out\nGREETING\nPATH\nPWD\nRUNWRIGHT_PROCESS_MARKER\n/usr\n";
        assert_eq!(output.stdout, expected);
        assert_eq!(output.stderr, "err\n");
        assert_eq!(outcome.bytes, [expected.len() as u64, 4]);
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn program_open_for_writing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tool");
    let mut open = fs::File::create(&path).unwrap();
    open.write_all(b"#!/bin/sh\necho hello\n").unwrap();
    open.set_permissions(fs::Permissions::from_mode(0o700))
        .unwrap();
    let command = Command::new(&path);
    for containment in BOTH {
        let tree = tree(containment);
        let error = tree.spawn(&command).unwrap_err();
        let ProcessError::Spawn { source, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(source.kind(), ErrorKind::ExecutableFileBusy);
        tree.close().await.unwrap();
    }
    drop(open);
    for containment in BOTH {
        let tree = tree(containment);
        // A process that another test starts may hold a copy for a moment.
        until("no process has it open", || match tree.spawn(&command) {
            Ok(_) => true,
            Err(ProcessError::Spawn { source, .. }) => {
                assert_eq!(source.kind(), ErrorKind::ExecutableFileBusy);
                false
            }
            Err(error) => panic!("{error:?}"),
        })
        .await;
        let (outcome, output) = run(&tree, &command).await;
        assert!(outcome.success());
        assert_eq!(output.stdout, "hello\n");
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn child_has_default_signals() {
    for containment in BOTH {
        let tree = tree(containment);
        let script = "grep '^SigBlk' /proc/self/status";
        let (_, output) = run(&tree, &sh(script)).await;
        assert_eq!(output.stdout, "SigBlk:\t0000000000000000\n");
        let (outcome, output) = run(&tree, &sh("yes | head -n 1")).await;
        assert!(outcome.success());
        assert_eq!(
            (output.stdout.as_str(), output.stderr.as_str()),
            ("y\n", "")
        );
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn start_errors_are_distinguished() {
    for containment in BOTH {
        let tree = tree(containment);
        let missing = tree.spawn(&Command::new("no-such-program")).unwrap_err();
        assert!(
            matches!(missing, ProcessError::NotFound { .. }),
            "{missing:?}"
        );
        let missing = tree.spawn(&Command::new("/no/such/program")).unwrap_err();
        assert!(
            matches!(missing, ProcessError::NotFound { .. }),
            "{missing:?}"
        );
        let directory = tree
            .spawn(&sh("").current_dir("/no/such/directory"))
            .unwrap_err();
        assert!(
            matches!(directory, ProcessError::WorkingDirectory { .. }),
            "{directory:?}"
        );
        let denied = tree.spawn(&Command::new("/etc/passwd")).unwrap_err();
        assert!(matches!(denied, ProcessError::Spawn { .. }), "{denied:?}");
        let nul = tree.spawn(&sh("").arg("a\0b")).unwrap_err();
        assert!(matches!(nul, ProcessError::Unpassable { .. }), "{nul:?}");
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn huge_input_and_output_do_not_deadlock() {
    for containment in BOTH {
        let tree = tree(containment);
        let line = "echo 0123456789abcdefghijklmnopqrstuvwxyz\n";
        let count = (1 << 20) / line.len();
        let (outcome, output) = run(&tree, &sh(&line.repeat(count))).await;
        assert!(outcome.success());
        assert_eq!(output.stdout.lines().count(), count);
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn unread_input_is_dropped() {
    let tree = tree(BOTH[0]);
    let command = Command::new("true").stdin(Stdin::Bytes(vec![b'#'; 1 << 20]));
    let (outcome, _) = run(&tree, &command).await;
    assert!(outcome.success());
    tree.close().await.unwrap();
}

#[tokio::test]
async fn piped_input_belongs_to_the_caller() {
    let tree = tree(BOTH[0]);
    let mut process = tree
        .spawn(&Command::new("cat").stdin(Stdin::Piped))
        .unwrap();
    let stdin = process.take_stdin().unwrap();
    stdin.writable().await.unwrap();
    assert_eq!(stdin.try_write(b"hello").unwrap(), 5);
    drop(stdin);
    let mut text = Vec::new();
    let mut sink = |_: Stream, bytes: &[u8]| text.extend_from_slice(bytes);
    let outcome = process
        .run(&mut sink, &NeverStop, &Timing::default())
        .await
        .unwrap();
    assert!(outcome.success());
    assert_eq!(text, b"hello");
}

#[tokio::test]
async fn pipe_held_outside_of_the_job_causes_no_delay() {
    let tree = tree(Containment::Auto);
    if !tree.is_contained() {
        return;
    }
    let command = Command::new("cat").stdin(Stdin::Piped);
    let mut process = tree.spawn(&command).unwrap();
    let stdin = process.take_stdin().unwrap();
    stdin.writable().await.unwrap();
    stdin.try_write(b"last words").unwrap();
    let stdout = format!("/proc/{}/fd/1", process.id());
    let held = fs::File::options().write(true).open(stdout).unwrap();
    drop(stdin);
    let mut text = Vec::new();
    let mut sink = |_: Stream, bytes: &[u8]| text.extend_from_slice(bytes);
    let timing = Timing {
        pipe_grace: Duration::MAX,
        ..Timing::default()
    };
    let outcome = process.run(&mut sink, &NeverStop, &timing).await.unwrap();
    drop(held);
    assert!(outcome.success() && !outcome.output_cut);
    assert_eq!(text, b"last words");
    tree.close().await.unwrap();
}

/// Counts output and drops it.
#[derive(Default)]
struct Counter {
    bytes: u64,
    largest: usize,
    idles: usize,
}

impl OutputSink for Counter {
    fn write(&mut self, _stream: Stream, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.largest = self.largest.max(bytes.len());
    }

    fn idle(&mut self) {
        self.idles += 1;
    }
}

#[tokio::test]
async fn hundred_megabytes_pass_in_bounded_memory() {
    let tree = tree(BOTH[0]);
    let mut counter = Counter::default();
    let process = tree.spawn(&sh("head -c 104857600 /dev/zero")).unwrap();
    let outcome = process
        .run(&mut counter, &NeverStop, &Timing::default())
        .await
        .unwrap();
    assert!(outcome.success());
    assert_eq!(counter.bytes, 100 << 20);
    assert!(counter.largest <= 64 << 10);
    tree.close().await.unwrap();
}

/// Opens the gate on silence.
struct Opener(std::path::PathBuf, usize);
impl OutputSink for Opener {
    fn write(&mut self, _stream: Stream, bytes: &[u8]) {
        assert_eq!(bytes, b"prompt");
    }
    fn idle(&mut self) {
        self.1 += 1;
        fs::write(&self.0, "").unwrap();
    }
}

#[tokio::test]
async fn silence_is_reported_once() {
    let directory = tempfile::tempdir().unwrap();
    let gate = directory.path().join("gate");
    let script = format!(
        "printf prompt; until [ -e '{}' ]; do sleep 0.01; done",
        gate.display()
    );

    let mut opener = Opener(gate, 0);
    let tree = tree(BOTH[0]);
    let process = tree.spawn(&sh(&script)).unwrap();
    let outcome = process
        .run(&mut opener, &NeverStop, &Timing::default())
        .await
        .unwrap();
    assert!(outcome.success());
    assert_eq!(opener.1, 1);
}

#[tokio::test]
async fn pipe_held_by_a_background_child_is_closed() {
    for containment in BOTH {
        let tree = tree(containment);
        let timing = Timing {
            pipe_grace: Duration::from_millis(200),
            ..Timing::default()
        };
        let (outcome, output) =
            run_with(&tree, &sh("sleep 600 & echo pid $!; echo last"), &timing).await;
        assert!(outcome.success());
        assert!(outcome.output_cut);
        assert!(output.stdout.ends_with("last\n"), "{output:?}");
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn background_output_does_not_hide_the_last_line() {
    for containment in BOTH {
        let tree = tree(containment);
        let timing = Timing {
            pipe_grace: Duration::ZERO,
            ..Timing::default()
        };
        // Standard error is silent, so its last line is the shell's.
        let script = "yes & i=0; while [ $i -lt 1000 ]; do echo $i >&2; i=$((i+1)); done";
        let (outcome, output) = run_with(&tree, &sh(script), &timing).await;
        assert!(outcome.success());
        assert_eq!(output.stderr.lines().count(), 1000);
        tree.close().await.unwrap();
    }
}

#[tokio::test]
async fn background_writer_finishes_within_the_grace_period() {
    let tree = tree(BOTH[0]);
    let script = "exec > >(sed 's/^/> /'); echo one; echo two";
    let command = Command::new("bash").args(["-c", script]);
    let timing = Timing {
        pipe_grace: PATIENCE,
        ..Timing::default()
    };
    let (outcome, output) = run_with(&tree, &command, &timing).await;
    assert!(outcome.success());
    assert!(!outcome.output_cut);
    assert_eq!(output.stdout, "> one\n> two\n");
}

#[tokio::test]
async fn usage_is_counted() {
    let tree = tree(BOTH[0]);
    let script = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done";
    let (outcome, _) = run(&tree, &sh(script)).await;
    assert!(outcome.usage.user + outcome.usage.system > Duration::ZERO);
    assert!(outcome.usage.max_resident > 100 << 10);
    assert!(outcome.elapsed > Duration::ZERO);
}

#[tokio::test]
async fn fifty_trees_run_at_once() {
    for containment in BOTH {
        let supervisor = supervisor(containment);
        let mut jobs = tokio::task::JoinSet::new();
        for number in 0..50 {
            let tree = supervisor.tree();
            jobs.spawn(async move {
                let (outcome, output) = run(&tree, &sh(&format!("echo {number}"))).await;
                tree.close().await.unwrap();
                assert!(outcome.success());
                assert_eq!(output.stdout, format!("{number}\n"));
            });
        }
        while let Some(result) = jobs.join_next().await {
            result.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn written_program_starts_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let tree = tree(Containment::Auto);
    let mut started = tokio::task::JoinSet::new();
    for number in 0..50 {
        let (tree, path) = (tree.clone(), directory.path().join(number.to_string()));
        started.spawn(async move {
            process::write_program(&path, b"#!/bin/sh\necho started\n").unwrap();
            // The shell does not try again when the program is busy.
            let program = Command::new("/bin/sh").args(["-c".as_ref(), path.as_os_str()]);
            let (outcome, output) = run(&tree, &program).await;
            assert!(outcome.success(), "{}", output.stderr);
        });
    }
    while let Some(one) = started.join_next().await {
        one.unwrap();
    }
    tree.close().await.unwrap();
}
