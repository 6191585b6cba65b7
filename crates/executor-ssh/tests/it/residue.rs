//! What is left on the host when a connection, the agent or this program ends early.

use crate::support::run::{config, config_with, open};
use crate::support::sshd::{Sshd, is_alive, kill};
use executor_core::{BuildError, CancelCause};
use executor_ssh::{EngineChoice, SshConfig};
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The engine, the port, the key and the known keys for [`job_in_a_process_of_its_own`].
const JOB: &str = "RUNWRIGHT_TEST_SSH_JOB";

/// Returns settings with the shortest grace.
fn hasty(server: &Sshd, engine: EngineChoice) -> SshConfig {
    SshConfig {
        orphan_grace: Some(1),
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
async fn directory_outlives_a_reconnect_and_not_the_last_connection() {
    let server = Sshd::start();
    let mut job = open(hasty(&server, EngineChoice::Shell)).await.unwrap();
    job.run("setsid sleep 1000 >/dev/null 2>&1 & echo $! | tee pid")
        .await
        .unwrap();
    let pid = job.output().trim().to_owned();
    server.kill_sessions();
    // Longer than the grace.
    job.run("sleep 3").await.unwrap();
    job.run("cat pid").await.unwrap();
    assert_eq!(job.output(), format!("{pid}\n{pid}\n"));
    server.kill_sessions();
    server.wait_until_clean().await;
    assert!(!is_alive(&pid));
    let error = job.run("true").await.unwrap_err();
    assert!(matches!(error, BuildError::System { .. }), "{error:?}");
    let log = String::from_utf8(job.trace.all()).unwrap();
    assert!(log.contains("directory of the job is gone"), "{log}");
    job.executor.cleanup().await.unwrap();
    server.wait_until_clean().await;
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
    let mut job = open(SshConfig {
        orphan_grace: Some(1),
        ..settings
    })
    .await
    .unwrap();
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
            let text = format!(
                "setsid sleep 1000 >/dev/null 2>&1 &\necho $! >{0}.new; mv {0}.new {0}\n{last}\n",
                started.display()
            );
            fs::write(&script, text).unwrap();
            let settings = config(&server, server.port, EngineChoice::Auto);
            let words = [
                engine,
                &server.port.to_string(),
                server.key().to_str().unwrap(),
                settings.known_hosts_file.unwrap().to_str().unwrap(),
                script.to_str().unwrap(),
            ]
            .join(" ");
            #[expect(clippy::disallowed_methods, reason = "a program to kill")]
            let mut program = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "residue::job_in_a_process_of_its_own"])
                .env(JOB, words)
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            while !started.exists() {
                assert!(program.try_wait().unwrap().is_none());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let pid = fs::read_to_string(&started).unwrap().trim().to_owned();
            fs::remove_file(&started).unwrap();
            program.kill().unwrap();
            program.wait().unwrap();
            server.wait_until_clean().await;
            assert!(!is_alive(&pid), "{engine} {ends}");
        }
    }
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
    assert!(!is_alive(&pid));
    job.executor.cleanup().await.unwrap();
}
