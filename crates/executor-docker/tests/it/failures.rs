//! Failures of a job's container, and how they are reported.

use crate::support::runner::{BUSYBOX, NONROOT, Opened, Run, job, log_text, settings};
use crate::support::{engine, in_time};
use bollard::query_parameters::RemoveContainerOptions;
use executor_core::FailureReason;
use executor_core::job::Job;
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice, Size};
use executor_testkit::CommandBuilder;
use std::collections::BTreeMap;
use std::io::Cursor;

const ENGINES: [EngineChoice; 3] = [
    EngineChoice::Exec,
    EngineChoice::Agent,
    EngineChoice::Attach,
];
const SCRATCH: &str = "runwright-test/scratch:1";

fn with(engine: EngineChoice) -> DockerConfig {
    DockerConfig {
        engine,
        ..settings()
    }
}

fn container_of(run: &Run, opened: &Opened) -> String {
    assert!(!run.owner.is_empty());
    opened.environment.hostname.clone()
}

async fn clean(run: &Run, executor: &mut Box<dyn Executor>) {
    executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, Vec::<String>::new());
    let private = run.directory.path().join(".tmp");
    let left = std::fs::read_dir(private).into_iter().flatten().flatten();
    let left: Vec<_> = left.map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

async fn refused(run: &Run, job: Job) -> (BuildError, String) {
    match run.try_open(job).await {
        Err((error, mut executor, trace)) => {
            clean(run, &mut executor).await;
            (error, log_text(&trace))
        }
        Ok(mut opened) => {
            opened.executor.cleanup().await.unwrap();
            panic!("it was prepared");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_a_shell_is_reported() {
    // R-EXEC-53
    for engine in ENGINES {
        let run = Run::new(with(engine));
        let (error, _) = refused(&run, job(SCRATCH)).await;
        assert!(
            matches!(error, BuildError::Config { .. }),
            "{engine:?}: {error:?}"
        );
        assert!(
            error.chain().contains("has no shell"),
            "{engine:?}: {}",
            error.chain()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_point_that_drops_the_command_is_reported_with_its_output() {
    for engine in ENGINES {
        let run = Run::new(with(engine));
        let mut job = job(BUSYBOX);
        let words = ["/bin/sh", "-c", "echo from the entry point; exit 3"];
        job.image.entrypoint = words.map(str::to_owned).to_vec();
        let (error, log) = refused(&run, job).await;
        let words = error.chain();
        assert!(
            words.contains("exit code 3") && words.contains("entry point"),
            "{words}"
        );
        assert!(log.contains("from the entry point"), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_point_that_starts_the_command_runs_first() {
    for engine in ENGINES {
        let run = Run::new(with(engine));
        let mut job = job(NONROOT);
        let words = [
            "/bin/sh",
            "-c",
            "echo to out; echo to err >&2; exec \"$@\"",
            "entry",
        ];
        job.image.entrypoint = words.map(str::to_owned).to_vec();
        let mut opened = match run.try_open(job).await {
            Ok(opened) => opened,
            Err((error, ..)) => panic!("{engine:?}: {}", error.chain()),
        };
        // The two streams arrive independently, so the test waits for both.
        for (stream, text) in [
            (TraceStream::STDOUT, "to out"),
            (TraceStream::STDERR, "to err"),
        ] {
            in_time(opened.trace.wait_for(stream, text)).await;
        }
        let log = log_text(&opened.trace);
        assert!(!log.contains("runwright-agent is listening"), "{log}");
        clean(&run, &mut opened.executor).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_container_fails_the_stage_soon_and_permanently() {
    for engine_choice in ENGINES {
        let run = Run::new(with(engine_choice));
        let mut opened = run.open(job(BUSYBOX)).await;
        let container = container_of(&run, &opened);
        let trace = opened.trace.clone();
        let command = CommandBuilder::new("echo ready; sleep 1000").working_dir("/");
        let removal = async {
            trace.wait_for(TraceStream::STDOUT, "ready").await;
            let options = RemoveContainerOptions {
                force: true,
                ..RemoveContainerOptions::default()
            };
            let engine = engine().await;
            engine
                .api()
                .remove_container(&container, Some(options))
                .await
                .unwrap();
        };
        let (ran, ()) = tokio::join!(in_time(opened.run(command)), removal);
        let error = ran.unwrap_err();
        assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
        assert!(!error.is_temporary(), "{error:?}");
        assert!(
            error.chain().contains("is lost"),
            "{engine_choice:?}: {}",
            error.chain()
        );
        // Later stages are refused as well.
        let after = CommandBuilder::new("true").working_dir("/");
        let after = opened.run(after.stage(BuildStage::AfterScript)).await;
        assert!(!after.unwrap_err().is_temporary());
        clean(&run, &mut opened.executor).await;
    }
}

fn limited(engine: EngineChoice, memory: &str) -> DockerConfig {
    let memory = Some(memory.parse::<Size>().unwrap());
    DockerConfig {
        memory,
        memory_swap: memory,
        ..with(engine)
    }
}

/// Runs a script that runs out of memory until this is reported. The engine sometimes misses the event or reports it
/// late: then the script runs again in another job.
async fn out_of_memory(engine: EngineChoice, memory: &str, script: &str) -> (Run, Opened) {
    let mut tries = 1..=5;
    loop {
        let run = Run::new(limited(engine, memory));
        let mut opened = run.open(job(BUSYBOX)).await;
        let command = CommandBuilder::new(script).working_dir("/");
        let ran = opened.run(command).await;
        if ran.as_ref().is_ok_and(|result| result.oom_killed) {
            assert_eq!(ran.unwrap().status.exit_code(), ExitCode(137), "{engine:?}");
            return (run, opened);
        }
        assert!(tries.next().is_some(), "{engine:?}: {ran:?}");
        clean(&run, &mut opened.executor).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_out_of_memory_is_reported() {
    // R-EXEC-66
    for engine in ENGINES {
        // A child, so that the container's main process survives.
        let script = "sh -c 'x=0123456789abcdef; while :; do x=$x$x; done'; exit $?";
        let (run, mut opened) = out_of_memory(engine, "64m", script).await;
        clean(&run, &mut opened.executor).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_out_of_memory_fails_its_script() {
    // R-EXEC-66
    for engine in ENGINES {
        // The memory of a file belongs to no process, so the kernel kills the preferred victim: the first process.
        let script =
            "echo 1000 >/proc/1/oom_score_adj; d=/dev; dd if=$d/zero of=$d/shm/full bs=65536";
        let mut tries = 1..=5;
        loop {
            let (run, mut opened) = out_of_memory(engine, "32m", script).await;
            let mut lost = String::new();
            if engine != EngineChoice::Attach {
                // Later stages have no container to run in.
                let after = CommandBuilder::new("true").working_dir("/");
                let after = opened.run(after.stage(BuildStage::AfterScript)).await;
                lost = after.unwrap_err().chain();
                assert!(lost.contains("its main process was killed"), "{lost}");
            }
            clean(&run, &mut opened.executor).await;
            if lost.is_empty() || lost.contains("because the memory ran out") {
                break;
            }
            // The engine may notice this after it reported the end.
            assert!(tries.next().is_some(), "{engine:?}: {lost}");
        }
    }
}

/// Runs a script that ends its container. Returns what was reported instead of that end.
async fn run_that_ends_container(
    choice: EngineChoice,
    entry_point: &[&str],
    script: &str,
) -> Option<String> {
    let run = Run::new(with(choice));
    let mut job = job(BUSYBOX);
    job.image.entrypoint = entry_point.iter().map(|word| (*word).to_owned()).collect();
    let mut opened = run.open(job).await;
    let command = CommandBuilder::new(format!("{script}; sleep 1000"));
    let ran = in_time(opened.run(command)).await;
    let instead = match ran {
        Ok(result) => {
            assert!(
                !result.status.is_success() && !result.oom_killed,
                "{script}"
            );
            let log = log_text(&opened.trace);
            (!log.contains("during the script")).then_some(log)
        }
        Err(error) => Some(error.chain()),
    };
    if instead.is_none() {
        let later = opened.run(CommandBuilder::new("true")).await;
        let reason = later.unwrap_err().failure_reason();
        assert_eq!(reason, FailureReason::RunnerSystemFailure);
    }
    clean(&run, &mut opened.executor).await;
    instead
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_ends_its_container_fails() {
    let entry_point = ["/bin/sh", "-c", "\"$@\"; echo after", "entry"];
    for (choice, entry_point, script) in [
        // The agent is the main process, or its parent is.
        (EngineChoice::Agent, &[""][..], "kill $PPID"),
        (EngineChoice::Agent, &entry_point, "kill -9 $PPID"),
        (EngineChoice::Exec, &[""], "kill 1"),
        (EngineChoice::Exec, &entry_point, "kill -9 -1"),
    ] {
        let mut attempts = 1;
        while let Some(instead) = run_that_ends_container(choice, entry_point, script).await {
            // A busy engine may notice the end of the container late.
            assert!(attempts < 3, "{choice:?}, {script}: {instead}");
            attempts += 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_shows_no_values_of_variables() {
    // R-STEP-34
    for engine_choice in ENGINES {
        let run = Run::new(with(engine_choice));
        let mut opened = run.open(job(BUSYBOX)).await;
        let project = opened.environment.workspace.dirs().project_dir.clone();
        let command = CommandBuilder::new("echo \"$SECRET in <$FILE>\"; cat \"$FILE\"")
            .variable("SECRET", "correct-horse")
            .file("FILE", *b"battery-staple")
            .working_dir(project);
        opened.run(command).await.unwrap();
        // The same file as in jobs of GitLab Runner.
        let expected = "correct-horse in </builds/group/project.tmp/FILE>\nbattery-staple";
        assert_eq!(
            opened.trace.text(TraceStream::STDOUT),
            expected,
            "{engine_choice:?}"
        );
        let container = container_of(&run, &opened);
        let engine = engine().await;
        let seen = engine
            .api()
            .inspect_container(&container, None)
            .await
            .unwrap();
        let seen = format!("{seen:?}");
        assert!(
            !seen.contains("correct-horse") && !seen.contains("battery-staple"),
            "{seen}"
        );
        clean(&run, &mut opened.executor).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_only_the_script_that_fills_it() {
    // R-EXEC-66
    for engine in ENGINES {
        let run = Run::new(DockerConfig {
            tmpfs: BTreeMap::from([("/small".to_owned(), "size=64k".to_owned())]),
            ..with(engine)
        });
        let mut opened = run.open(job(BUSYBOX)).await;
        let script = "dd if=/dev/zero of=/small/full bs=1024 count=1000 || exit 7";
        let ran = opened.run(CommandBuilder::new(script)).await;
        assert_eq!(ran.unwrap().status.exit_code(), ExitCode(7), "{engine:?}");
        let log = log_text(&opened.trace);
        assert!(log.contains("No space left on device"), "{engine:?}: {log}");
        // A failed write of the runner itself is a system failure, and the job's container survives.
        if let Some(transfer) = opened.executor.abilities().file_transfer {
            let archive = archive_of(&vec![7; 200_000]);
            let go_on = Cancellation::new();
            let put = transfer.put("/small", Box::new(Cursor::new(archive)), &go_on);
            let error = put.await.unwrap_err();
            let words = error.chain();
            assert!(
                words.to_lowercase().contains("no space left on device"),
                "{engine:?}: {words}"
            );
            assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
        }
        if engine != EngineChoice::Attach {
            assert_eq!(opened.print("rm /small/*; echo on").await, "on\n");
        }
        clean(&run, &mut opened.executor).await;
    }
}

/// Returns an archive with one file.
fn archive_of(content: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_data(&mut header, "file", content).unwrap();
    archive.into_inner().unwrap()
}
