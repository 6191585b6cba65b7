//! What is left on the host when a connection, the agent or this program ends early.

use crate::support::fault_proxy::FaultProxy;
use crate::support::run::{config, config_with, open};
use crate::support::sshd::{Sshd, ends_soon, kill};
use executor_core::{BuildError, CancelCause, Cancellation};
use executor_ssh::{EngineChoice, SshConfig};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The engine, the port, the key and the known keys for [`job_in_a_process_of_its_own`].
const JOB: &str = "RUNWRIGHT_TEST_SSH_JOB";

/// In place of a script: a job from its start to its end.
const WHOLE_JOB: &str = "whole-job";

/// Starts this program again for a job, with an action at a fail point.
fn start(server: &Sshd, engine: &str, script: &str, action: &str) -> Child {
    let settings = config(server, server.port, EngineChoice::Auto);
    let (port, key) = (server.port, server.key());
    let known = settings.known_hosts_file.unwrap();
    let words = format!(
        "{engine} {port} {} {} {script}",
        key.display(),
        known.display()
    );
    #[expect(clippy::disallowed_methods, reason = "a program to kill")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "residue::job_in_a_process_of_its_own"])
        .env(JOB, words)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if !action.is_empty() {
        command.env(fail_point::VARIABLE, action);
    }
    command.spawn().unwrap()
}

/// Waits for the end of a program.
async fn wait(program: &mut Child) -> ExitStatus {
    let end = Instant::now() + Duration::from_mins(2);
    loop {
        if let Some(status) = program.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > end {
            program.kill().unwrap();
            program.wait().unwrap();
            panic!("the program does not end");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Returns settings with a short grace.
fn hasty(server: &Sshd, engine: EngineChoice) -> SshConfig {
    SshConfig {
        orphan_grace: Some(3),
        ..config(server, server.port, engine)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn normal_end_leaves_no_process() {
    let server = Sshd::start();
    for engine in [EngineChoice::Agent, EngineChoice::Shell] {
        let mut job = open(config(&server, server.port, engine)).await.unwrap();
        assert!(server.left().len() > 1, "{:?}", server.left());
        job.run("true").await.unwrap();
        job.executor.cleanup().await.unwrap();
        server.wait_until_clean().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn directory_outlives_a_reconnect() {
    let server = Sshd::start();
    let mut job = open(config(&server, server.port, EngineChoice::Shell))
        .await
        .unwrap();
    let jobs = server.home().join(".cache/runwright/jobs");
    let own = fs::read_dir(jobs).unwrap().next().unwrap().unwrap().path();
    let connections = || -> BTreeSet<_> {
        let entries = fs::read_dir(own.join("connections")).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    let before = connections();
    assert_eq!(before.len(), 1);
    server.kill_sessions();
    job.run("echo again").await.unwrap();
    // The watcher looks at all connections in one turn, and counts the turns in which it finds none.
    while !connections().is_disjoint(&before) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(connections().len(), 1);
    job.run("echo there").await.unwrap();
    assert_eq!(job.output(), "again\nthere\n");
    job.executor.cleanup().await.unwrap();
    server.wait_until_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn directory_does_not_outlive_the_last_connection() {
    let server = Sshd::start();
    let mut job = open(hasty(&server, EngineChoice::Shell)).await.unwrap();
    job.run("setsid sleep 1000 >/dev/null 2>&1 & echo $!")
        .await
        .unwrap();
    let pid = job.output().trim().to_owned();
    server.kill_sessions();
    server.wait_until_clean().await;
    assert!(ends_soon(&pid).await);
    let error = job.run("true").await.unwrap_err();
    assert!(matches!(error, BuildError::System { .. }), "{error:?}");
    let log = String::from_utf8(job.trace.all()).unwrap();
    assert!(log.contains("directory of the job is gone"), "{log}");
    job.executor.cleanup().await.unwrap();
    server.wait_until_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_that_breaks_anywhere_leaves_nothing() {
    let server = Sshd::with("MaxStartups 100\n");
    let proxy = FaultProxy::start(server.port);
    for engine in [EngineChoice::Agent, EngineChoice::Shell] {
        for step in 1..=16 {
            // A login needs about 3,000 bytes from the host, a whole job more than twice as many.
            proxy.cut_after(step * 400);
            let settings = SshConfig {
                orphan_grace: Some(1),
                ..config(&server, proxy.port, engine)
            };
            if let Ok(mut job) = open(settings).await {
                let _ = job.run("true").await;
                let _ = job.executor.cleanup().await;
            }
        }
    }
    assert!(proxy.cuts() > 16, "{} cuts", proxy.cuts());
    server.wait_until_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_other_processes_are_not_killed() {
    let server = Sshd::start();
    let mut job = open(config(&server, server.port, EngineChoice::Agent))
        .await
        .unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "a process with the agent's number"
    )]
    let mut other = Command::new("sleep")
        .arg("1000")
        .process_group(0)
        .spawn()
        .unwrap();
    let jobs = server.home().join(".cache/runwright/jobs");
    let own = fs::read_dir(jobs).unwrap().next().unwrap().unwrap().path();
    for name in ["agent.pid", "watcher.pid"] {
        fs::write(own.join(name), format!("{}\n", other.id())).unwrap();
    }
    job.executor.cleanup().await.unwrap();
    server.wait_until_clean().await;
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

/// Starts a job and waits to be killed, when [`killed_program_leaves_nothing`] starts this program for that.
#[tokio::test(flavor = "multi_thread")]
async fn job_in_a_process_of_its_own() {
    let Ok(words) = std::env::var(JOB) else {
        return;
    };
    let words: Vec<_> = words.split(' ').collect();
    let &[engine, port, key, known, script] = &words[..] else {
        panic!("{words:?}");
    };
    let engine = match engine {
        "agent" => EngineChoice::Agent,
        _ => EngineChoice::Shell,
    };
    let settings = config_with(port.parse().unwrap(), engine, key.into(), known.into());
    let opened = open(SshConfig {
        orphan_grace: Some(3),
        ..settings
    })
    .await;
    // An error of a step was cleaned up.
    let Ok(mut job) = opened else { return };
    if script == WHOLE_JOB {
        // A step may fail; then the next one of the runner follows.
        if job.run("echo x >file").await.is_ok()
            && let Some(transfer) = job.executor.abilities().file_transfer
        {
            let directory = &job.environment.workspace.dirs().builds_dir;
            let mut archive = tar::Builder::new(Vec::new());
            // An archive like that of another process would not be stored.
            let content = std::process::id().to_le_bytes().repeat(32 << 10);
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, "sent", &*content).unwrap();
            let archive = Box::new(std::io::Cursor::new(archive.into_inner().unwrap()));
            let _ = transfer.put(directory, archive, &Cancellation::new()).await;
            let paths = ["file".to_owned()];
            let _ = transfer.get(directory, &paths, &Cancellation::new()).await;
        }
        let _ = job.executor.cleanup().await;
        return;
    }
    job.run(&format!("sh {script}")).await.unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_program_leaves_nothing() {
    // R-EXEC-100
    let server = Sshd::start();
    for engine in ["agent", "shell"] {
        for ends in [true, false] {
            let (script, started) = (server.path("script"), server.path("started"));
            let last = if ends { "" } else { "sleep 1000" };
            // It leaves the session, and its parent ends.
            let text = format!(
                "(setsid sleep 1000 >/dev/null 2>&1 & echo $! >{0}.new)\nmv {0}.new {0}\n{last}\n",
                started.display()
            );
            fs::write(&script, text).unwrap();
            let mut program = start(&server, engine, script.to_str().unwrap(), "");
            while !started.exists() {
                assert!(program.try_wait().unwrap().is_none());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let pid = fs::read_to_string(&started).unwrap().trim().to_owned();
            fs::remove_file(&started).unwrap();
            program.kill().unwrap();
            program.wait().unwrap();
            server.wait_until_clean().await;
            assert!(ends_soon(&pid).await, "{engine} {ends}");
        }
    }
}

/// Returns the files beside the directories of jobs.
fn stored_files(server: &Sshd) -> Vec<PathBuf> {
    let entries = fs::read_dir(server.home().join(".cache/runwright")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_file()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn death_or_failure_at_any_step_leaves_nothing() {
    // R-EXEC-100
    let server = Sshd::with("MaxStartups 100\n");
    let record = server.path("record");
    let mut reached = BTreeSet::new();
    for engine in ["agent", "shell"] {
        let mut program = start(
            &server,
            engine,
            WHOLE_JOB,
            &format!("record {}", record.display()),
        );
        assert!(wait(&mut program).await.success());
        let text = fs::read_to_string(&record).unwrap();
        fs::remove_file(&record).unwrap();
        let visits = text
            .lines()
            .filter_map(|line| line.strip_prefix("reached "));
        let own = visits.filter(|name| name.starts_with("executor_ssh::"));
        let points: BTreeSet<_> = own.map(str::to_owned).collect();
        for action in ["kill before", "kill after", "error at"] {
            // With others at once, one of them would upload the agent first.
            let is_upload = |point: &&String| *point == "executor_ssh::agent::upload";
            let (upload, rest): (Vec<_>, Vec<_>) = points.iter().partition(is_upload);
            for group in [upload, rest] {
                for file in stored_files(&server) {
                    fs::remove_file(file).unwrap();
                }
                let programs = group
                    .iter()
                    .map(|point| start(&server, engine, WHOLE_JOB, &format!("{action} {point}")));
                let programs: Vec<_> = programs.collect();
                for (mut program, point) in programs.into_iter().zip(group) {
                    let status = wait(&mut program).await;
                    let killed = action.starts_with("kill").then_some(Signal::KILL.as_raw());
                    assert_eq!(status.signal(), killed, "{action} {point}: {status}");
                }
            }
            server.wait_until_clean().await;
            let mut files = stored_files(&server);
            files.retain(|file| file.extension().is_some());
            assert!(files.is_empty(), "parts of an upload: {files:?}");
        }
        reached.extend(points);
    }
    let all = fail_point::POINTS.iter().map(fail_point::Point::name);
    let own: BTreeSet<_> = all
        .filter(|name| name.starts_with("executor_ssh::"))
        .map(str::to_owned)
        .collect();
    assert_eq!(reached, own);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_agent_ends_its_stage_and_leaves_nothing() {
    // R-EXEC-100
    let server = Sshd::start();
    let mut job = open(hasty(&server, EngineChoice::Agent)).await.unwrap();
    let jobs = server.home().join(".cache/runwright/jobs");
    let own = fs::read_dir(jobs).unwrap().next().unwrap().unwrap().path();
    let agent = fs::read_to_string(own.join("agent.pid")).unwrap();
    let started = server.path("started");
    let script = format!("echo $$ >{}; sleep 1000", started.display());
    let (ran, pid) = tokio::join!(job.run(&script), async {
        let pid = loop {
            match fs::read_to_string(&started) {
                Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
                _ => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        kill(agent.trim().parse().unwrap());
        pid
    });
    let error = ran.unwrap_err();
    assert!(
        matches!(error, BuildError::Canceled(CancelCause::EnvironmentLost)),
        "{error:?}"
    );
    assert!(!error.is_temporary(), "{}", error.chain());
    server.wait_until_clean().await;
    assert!(ends_soon(&pid).await);
    job.executor.cleanup().await.unwrap();
}
