//! Stages on a host with limits of its own.

use crate::support::run::{Opened, config, open};
use crate::support::sshd::{Sshd, ends_soon, kill};
use executor_core::ability::{TerminalRequest, TerminalSize};
use executor_core::prelude::*;
use executor_ssh::EngineChoice;
use executor_testkit::CommandBuilder;
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ENGINES: [EngineChoice; 2] = [EngineChoice::Agent, EngineChoice::Shell];

async fn opened(server: &Sshd, engine: EngineChoice) -> Opened {
    open(config(server, server.port, engine)).await.unwrap()
}

fn left(server: &Sshd) -> usize {
    let jobs = server.home().join(".cache/runwright/jobs");
    fs::read_dir(jobs).map_or(0, Iterator::count)
}

/// Returns the stored agent, if there is one.
fn stored(server: &Sshd) -> Option<PathBuf> {
    let entries = fs::read_dir(server.home().join(".cache/runwright")).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    paths.find(|path| path.file_name().unwrap() != "jobs")
}

fn make_old(path: &Path) {
    let forty_days = Duration::from_hours(40 * 24);
    // A program that runs cannot be opened for writing.
    let file = fs::File::open(path).unwrap();
    file.set_modified(SystemTime::now() - forty_days).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_is_uploaded_once() {
    // R-STEP-47
    let server = Sshd::start();
    let inode = || fs::metadata(stored(&server).unwrap()).unwrap().ino();
    let mut first = opened(&server, EngineChoice::Agent).await;
    first.run("echo one").await.unwrap();
    let uploaded = inode();
    first.executor.cleanup().await.unwrap();
    let path = stored(&server).unwrap();
    make_old(&path);
    let mut second = opened(&server, EngineChoice::Agent).await;
    assert_eq!(inode(), uploaded);
    let age = fs::metadata(&path).unwrap().modified().unwrap().elapsed();
    assert!(age.unwrap_or_default() < Duration::from_hours(1));
    second.executor.cleanup().await.unwrap();
    // A damaged one is replaced.
    fs::write(&path, "damaged").unwrap();
    let mut third = opened(&server, EngineChoice::Agent).await;
    third.run("echo three").await.unwrap();
    third.executor.cleanup().await.unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 100_000);
    assert_eq!(left(&server), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_no_job_starts_any_more_are_removed() {
    let server = Sshd::start();
    let mut job = opened(&server, EngineChoice::Agent).await;
    let path = stored(&server).unwrap();
    let of_other_version = path.with_file_name("agent-0123");
    fs::rename(&path, &of_other_version).unwrap();
    make_old(&of_other_version);
    let recent = path.with_file_name("agent-4567");
    fs::write(&recent, "").unwrap();
    let mut other = opened(&server, EngineChoice::Agent).await;
    assert!(path.exists() && recent.exists() && !of_other_version.exists());
    other.executor.cleanup().await.unwrap();
    // The job that uses the removed one is connected again by its own link.
    job.run("echo one").await.unwrap();
    server.kill_sessions();
    job.run("echo two").await.unwrap();
    assert_eq!(job.output(), "one\ntwo\n");
    job.executor.cleanup().await.unwrap();
    server.wait_until_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_channel_is_enough() {
    // R-STEP-48
    let server = Sshd::with("MaxSessions 1\n");
    for engine in ENGINES {
        let mut job = opened(&server, engine).await;
        let transfer = job.executor.abilities().file_transfer.unwrap();
        let directory = job.environment.workspace.dirs().builds_dir.clone();
        job.run("echo a >file").await.unwrap();
        let paths = ["file".to_owned(), "missing".to_owned()];
        let mut archive = transfer
            .get(&directory, &paths, &Cancellation::new())
            .await
            .unwrap();
        let mut bytes = Vec::new();
        archive.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(
            tar::Archive::new(&*bytes).entries().unwrap().count(),
            1,
            "{engine:?}"
        );
        job.executor.cleanup().await.unwrap();
        assert_eq!(left(&server), 0, "{engine:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn directory_below_tmp_replaces_a_home_without_write() {
    // R-EXEC-100
    let server = Sshd::with_home("ro");
    let ours = server.path("tmp/runwright-0");
    for engine in ENGINES {
        let mut job = opened(&server, engine).await;
        job.run("echo here").await.unwrap();
        assert_eq!(job.output(), "here\n");
        let builds = job.environment.workspace.dirs().builds_dir.clone();
        assert!(builds.starts_with(ours.to_str().unwrap()), "{builds}");
        let log = String::from_utf8(job.trace.all()).unwrap();
        let home = server.home().display().to_string();
        assert!(log.contains(&format!("directory {home} of the host is missing")));
        job.executor.cleanup().await.unwrap();
        assert!(!fs::exists(builds).unwrap());
    }

    // Its owner could replace the scripts in it.
    std::os::unix::fs::chown(&ours, Some(1), None).unwrap();
    let error = open(config(&server, server.port, EngineChoice::Shell)).await;
    let error = error.err().unwrap().chain();
    assert!(error.contains("belongs to another user"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn file_variables_have_their_exact_content() {
    let server = Sshd::start();
    let content = "-----BEGIN 100% 'KEY'-----\n\\n\u{e4}\n-----END KEY-----";
    for engine in ENGINES {
        let mut job = opened(&server, engine).await;
        let directory = &job.environment.workspace.dirs().builds_dir;
        let command = CommandBuilder::new("cat \"$KEY_FILE\"")
            .working_dir(directory)
            .file("KEY_FILE", content);
        let command = command.build();
        job.executor
            .run(command, &Cancellation::new())
            .await
            .unwrap();
        assert_eq!(job.output(), content, "{engine:?}");
        let elsewhere = CommandBuilder::new("true").file("../elsewhere", "").build();
        let refused = job.executor.run(elsewhere, &Cancellation::new()).await;
        let error = refused.err().unwrap().chain();
        assert!(error.contains("without slash"), "{engine:?}: {error}");
        job.executor.cleanup().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn home_that_cannot_run_programs_needs_no_agent() {
    // R-STEP-47
    let server = Sshd::with_home("noexec");
    let mut job = opened(&server, EngineChoice::Auto).await;
    job.run("echo one").await.unwrap();
    job.run("echo two").await.unwrap();
    assert_eq!(job.output(), "one\ntwo\n");
    let log = String::from_utf8(job.trace.all()).unwrap();
    assert_eq!(log.matches("runs without the agent").count(), 1, "{log}");
    job.executor.cleanup().await.unwrap();
    let error = open(config(&server, server.port, EngineChoice::Agent))
        .await
        .err();
    assert!(error.unwrap().chain().contains("is not possible: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_that_is_not_reached_leaves_the_directory_to_the_job() {
    // R-STEP-47
    let server = Sshd::with("ForceCommand sh \"$HOME/wrapper\"\n");
    // The agent starts, its proxies fail, and so do as many of the next commands as the file says.
    let wrapper = "cd \"$HOME\"\n\
        case $SSH_ORIGINAL_COMMAND in\n\
        *agent.started*)\n\
        sh -c \"$SSH_ORIGINAL_COMMAND\" </dev/null >/dev/null 2>&1 &\n\
        until [ -s .cache/runwright/jobs/*/agent.pid ]; do sleep 0.02; done\n\
        cp failures left\nexit 1\n;;\n\
        *proxy*) exit 1 ;;\n\
        *agent.pid*) exec sh -c \"$SSH_ORIGINAL_COMMAND\" ;;\n\
        esac\n\
        if [ -s left ]; then tail -n +2 left >left.new; mv left.new left; exit 1; fi\n\
        exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n";
    fs::write(server.home().join("wrapper"), wrapper).unwrap();
    fs::write(server.home().join("failures"), "one\n").unwrap();
    let mut job = opened(&server, EngineChoice::Auto).await;
    let jobs = server.home().join(".cache/runwright/jobs");
    let own = fs::read_dir(&jobs).unwrap().next().unwrap().unwrap().path();
    assert!(!own.join("agent.pid").exists());
    job.run("echo here").await.unwrap();
    assert_eq!(job.output(), "here\n");
    job.executor.cleanup().await.unwrap();
    server.wait_until_clean().await;

    fs::write(server.home().join("failures"), "one\ntwo\n").unwrap();
    let error = open(config(&server, server.port, EngineChoice::Auto)).await;
    let error = error.err().unwrap();
    assert!(
        error.chain().contains("give up the agent"),
        "{}",
        error.chain()
    );
    server.wait_until_clean().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn full_disk_is_named_and_nothing_is_left() {
    // R-EXEC-100
    let too_small = Sshd::with_home("size=1m");
    let mut job = opened(&too_small, EngineChoice::Auto).await;
    let log = String::from_utf8(job.trace.all()).unwrap();
    assert!(log.contains("No space left"), "{log}");
    let ours = too_small.seen(&too_small.home()).join(".cache/runwright");
    let stored = || fs::read_dir(&ours).unwrap().count();
    assert_eq!(stored(), 1, "only the directory of the jobs");
    let command = CommandBuilder::new("true")
        .working_dir("/")
        .file("LARGE", vec![b'x'; 2 << 20]);
    let command = command.build();
    let error = job.executor.run(command, &Cancellation::new()).await;
    let error = error.unwrap_err().chain();
    assert!(error.contains("the log has its messages"), "{error}");
    job.executor.cleanup().await.unwrap();
    too_small.wait_until_clean().await;

    // The agent has place there.
    let small = Sshd::with_home("size=6m");
    let mut archive = tar::Builder::new(Vec::new());
    let content = vec![1; 4 << 20];
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    archive
        .append_data(&mut header, "large", &*content)
        .unwrap();
    let archive = archive.into_inner().unwrap();
    for (engine, copies) in [(EngineChoice::Agent, 1), (EngineChoice::Shell, 2)] {
        let mut job = opened(&small, engine).await;
        let transfer = job.executor.abilities().file_transfer.unwrap();
        let builds = job.environment.workspace.dirs().builds_dir.clone();
        let mut result = Ok(());
        for copy in 0..copies {
            let directory = format!("{builds}/{copy}");
            let stream = Box::new(std::io::Cursor::new(archive.clone()));
            result = transfer.put(&directory, stream, &Cancellation::new()).await;
        }
        let error = result.unwrap_err().chain();
        assert!(error.contains("No space left"), "{engine:?}: {error}");
        job.executor.cleanup().await.unwrap();
        small.wait_until_clean().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_with_too_many_logins_is_tried_again() {
    // R-EXEC-100
    let server = Sshd::with("MaxStartups 1:100:1\n");
    let login = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let (mut job, ()) = tokio::join!(opened(&server, EngineChoice::Shell), async {
        while !server.log().contains("MaxStartups") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        drop(login);
    });
    job.run("echo in").await.unwrap();
    assert_eq!(job.output(), "in\n");
    job.executor.cleanup().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_ends_what_a_script_left() {
    let server = Sshd::start();
    for engine in ENGINES {
        let mut job = opened(&server, engine).await;
        let script = "setsid sleep 1000 >/dev/null 2>&1 & echo $!";
        job.run(script).await.unwrap();
        let pid = job.output().trim().to_owned();
        job.executor.cleanup().await.unwrap();
        assert!(ends_soon(&pid).await, "{engine:?}");
        assert_eq!(left(&server), 0, "{engine:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn script_without_the_agent_ends_with_its_connection() {
    let server = Sshd::start();
    let mut job = opened(&server, EngineChoice::Shell).await;
    let file = server.path("pid");
    let script = format!("echo $$ >{}; sleep 1000", file.display());
    let (ran, pid) = tokio::join!(job.run(&script), async {
        let pid = loop {
            match fs::read_to_string(&file) {
                Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
                _ => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        server.kill_sessions();
        pid
    });
    let error = ran.unwrap_err();
    assert!(error.chain().contains("broke"), "{}", error.chain());
    assert!(!error.is_temporary());
    assert!(ends_soon(&pid).await, "the script runs on");
    // The commands of `after_script` have their directory.
    job.run("echo after").await.unwrap();
    assert!(job.output().ends_with("after\n"), "{}", job.output());
    job.executor.cleanup().await.unwrap();
    assert_eq!(left(&server), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_agent_is_a_lost_environment() {
    let server = Sshd::start();
    let mut job = opened(&server, EngineChoice::Agent).await;
    let jobs = server.home().join(".cache/runwright/jobs");
    let own = fs::read_dir(jobs).unwrap().next().unwrap().unwrap().path();
    let pid = fs::read_to_string(own.join("agent.pid")).unwrap();
    job.run("true").await.unwrap();
    kill(pid.trim().parse().unwrap());
    let begun = Instant::now();
    let error = job.run("true").await.unwrap_err();
    assert!(!error.is_temporary(), "{}", error.chain());
    let log = String::from_utf8(job.trace.all()).unwrap();
    assert!(log.contains("the agent of the job has ended"), "{log}");
    // Less than a lease.
    assert!(
        begun.elapsed() < Duration::from_mins(1),
        "{:?}",
        begun.elapsed()
    );
    job.executor.cleanup().await.unwrap();
    assert_eq!(left(&server), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn terminals_have_the_variables_and_the_size() {
    let server = Sshd::start();
    for engine in ENGINES {
        let mut job = opened(&server, engine).await;
        job.run("mkdir -p \"$PWD\"").await.unwrap();
        let dirs = job.environment.workspace.dirs().clone();
        job.run(&format!("mkdir -p {}", dirs.project_dir))
            .await
            .unwrap();
        let terminal = job.executor.abilities().terminal.unwrap();
        let size = TerminalSize {
            columns: 91,
            rows: 33,
        };
        let request = TerminalRequest::new(size);
        let mut session = terminal.open(request, &Cancellation::new()).await.unwrap();
        session
            .write_all(b"stty size; pwd; exit 7\n")
            .await
            .unwrap();
        let mut text = String::new();
        session.read_to_string(&mut text).await.unwrap();
        assert!(text.contains("33 91"), "{text}");
        assert!(text.contains(&dirs.project_dir), "{text}");
        let status = session.ended().await.unwrap();
        assert_eq!(status, StageStatus::Exited(ExitCode(7)));
        job.executor.cleanup().await.unwrap();
    }
}
