//! The engine stops and comes back while a job runs. The tests start their own engines.

use crate::conformance::report;
use crate::support::runner::{BUSYBOX, Run, job, settings};
use crate::support::test_transport::TestEndpoint;
use crate::support::{engine, in_time};
use bollard::body_full;
use bollard::query_parameters::{
    ImportImageOptions, ListContainersOptions, RemoveContainerOptions,
};
use executor_core::FailureReason;
use executor_core::prelude::*;
use executor_docker::config::{DockerConfig, EngineChoice};
use executor_docker::{DockerHost, Engine};
use executor_testkit::CommandBuilder;
use futures_util::TryStreamExt;
use process::collect_adopted;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, read_to_string};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An engine without a network, stopped on drop.
struct Daemon {
    directory: tempfile::TempDir,
    endpoint: TestEndpoint,
    arguments: &'static [&'static str],
    /// A directory of this host that the engine does not see.
    hidden: Option<PathBuf>,
    child: Option<Child>,
}

impl Daemon {
    async fn start(arguments: &'static [&'static str]) -> Self {
        Self::start_without(arguments, None).await
    }

    /// Starts an engine that does not see this directory, as if it were on another host.
    async fn start_without(arguments: &'static [&'static str], hidden: Option<PathBuf>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut daemon = Self {
            endpoint: TestEndpoint::to(&directory.path().join("docker.sock")),
            directory,
            arguments,
            hidden,
            child: None,
        };
        daemon.run();
        let there = daemon.answers().await;
        let image: Vec<_> = engine()
            .await
            .api()
            .export_image(BUSYBOX)
            .try_collect()
            .await
            .unwrap();
        let options = ImportImageOptions::default();
        let image = body_full(image.concat().into());
        let loaded = there.api().import_image(options, image, None);
        loaded.try_collect::<Vec<_>>().await.unwrap();
        daemon
    }

    #[expect(clippy::disallowed_methods, reason = "an engine of the test's own")]
    fn run(&mut self) {
        let at = |name: &str| self.directory.path().join(name);
        let log = File::options().create(true).append(true).open(at("log"));
        let log = log.unwrap();
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "TERM"])
            // An engine without a bridge would remove the bridge of another engine.
            .args(["unshare", "--net", "--mount", "sh", "-c"])
            .arg("test -z \"$0\" || mount -t tmpfs tmpfs \"$0\"; exec \"$@\"")
            .arg(self.hidden.clone().unwrap_or_default())
            .args(["dockerd", "--storage-driver", "vfs"])
            .args(["--bridge", "none", "--iptables=false", "--ip6tables=false"])
            .args(["--shutdown-timeout", "1"])
            .args(self.arguments)
            .arg("--host")
            .arg(self.address())
            .arg("--data-root")
            .arg(at("data"))
            .arg("--exec-root")
            .arg(at("exec"))
            .arg("--pidfile")
            .arg(at("pid"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.child = Some(command.spawn().expect("dockerd is installed"));
    }

    fn address(&self) -> String {
        format!("unix://{}/docker.sock", self.directory.path().display())
    }

    async fn answers(&mut self) -> Engine {
        let host = DockerHost::parse(&self.address()).unwrap();
        let begun = Instant::now();
        loop {
            match Engine::connect(&host).await {
                Ok(engine) => return engine,
                Err(error) if begun.elapsed() > Duration::from_mins(1) => {
                    let log = read_to_string(self.directory.path().join("log"));
                    panic!("{error}: {}", log.unwrap_or_default())
                }
                Err(_) => {
                    // An engine that finds the socket or mount of its predecessor ends at once.
                    if let Some(Ok(Some(_))) = self.child.as_mut().map(Child::try_wait) {
                        self.run();
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(mut child) = self.child.take() {
            let _ = kill_process(Pid::from_child(&child), signal);
            let _ = child.wait();
            // The next engine takes a containerd that died with this one and was not collected for a running one.
            let below =
                read_to_string(self.directory.path().join("exec/containerd/containerd.pid"));
            let below = below.map(|pid| PathBuf::from("/proc").join(pid.trim()));
            let begun = Instant::now();
            while signal == Signal::KILL && below.as_ref().is_ok_and(|it| it.exists()) {
                assert!(begun.elapsed() < Duration::from_mins(1), "{below:?}");
                collect_adopted();
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Stops the engine and starts it again.
    async fn restart(&mut self, signal: Signal) {
        self.signal(signal);
        self.run();
        self.answers().await;
    }

    /// Returns the engine's containers.
    async fn containers(&mut self) -> Vec<String> {
        let options = ListContainersOptions {
            all: true,
            ..ListContainersOptions::default()
        };
        let engine = self.answers().await;
        let found = engine.api().list_containers(Some(options)).await.unwrap();
        found.into_iter().filter_map(|found| found.id).collect()
    }

    /// Removes all leftovers of a test, so that none outlives the engine.
    async fn end(mut self) {
        let engine = self.answers().await;
        for container in self.containers().await {
            let options = RemoveContainerOptions {
                force: true,
                ..RemoveContainerOptions::default()
            };
            let removed = engine.api().remove_container(&container, Some(options));
            removed.await.unwrap();
        }
        self.signal(Signal::TERM);
    }
}

impl Drop for Daemon {
    #[expect(clippy::disallowed_methods, reason = "an engine of the test's own")]
    fn drop(&mut self) {
        self.signal(Signal::TERM);
        // A killed engine leaves its containerd running.
        let below = self.directory.path().join("exec/containerd/containerd.pid");
        let below = read_to_string(below)
            .ok()
            .and_then(|pid| pid.trim().parse().ok());
        if let Some(below) = below.and_then(Pid::from_raw) {
            let _ = kill_process(below, Signal::TERM);
        }
        // An engine that keeps its containers keeps its mount.
        let mut command = Command::new("umount");
        command
            .args(["-q", "-l"])
            .arg(self.directory.path().join("data"));
        let _ = command.stderr(Stdio::null()).status();
    }
}

fn run_in(daemon: &Daemon, engine: EngineChoice) -> Run {
    Run::new(DockerConfig {
        host: Some(daemon.endpoint.address().to_owned()),
        network_mode: Some("none".to_owned()),
        engine,
        ..settings()
    })
}

async fn lost(choice: EngineChoice, signal: Signal) {
    let mut daemon = Daemon::start(&[]).await;
    let run = run_in(&daemon, choice);
    let mut opened = run.open(job(BUSYBOX)).await;
    let trace = opened.trace.clone();
    let end = async {
        trace.wait_for(TraceStream::STDOUT, "begun").await;
        daemon.signal(signal);
    };
    let command = CommandBuilder::new("echo begun; sleep 300").working_dir("/");
    let (ran, ()) = tokio::join!(in_time(opened.run(command)), end);
    let error = ran.unwrap_err();
    let message = error.chain();
    assert!(message.contains("is lost"), "{choice:?}: {message}");
    assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
    assert!(!error.is_temporary(), "{choice:?}: {message}");
    // The engine comes back during the cleanup of the job.
    daemon.run();
    let begun = Instant::now();
    while let Err(error) = opened.executor.cleanup().await {
        assert!(begun.elapsed() < Duration::from_mins(2), "{error}");
        daemon.answers().await;
    }
    assert_eq!(daemon.containers().await, Vec::<String>::new());
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ending_engine_fails_the_job_and_leaves_nothing() {
    lost(EngineChoice::Agent, Signal::TERM).await;
    lost(EngineChoice::Exec, Signal::TERM).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_killed_fails_the_job_soon() {
    lost(EngineChoice::Agent, Signal::KILL).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_keeps_its_containers_keeps_the_job() {
    let mut daemon = Daemon::start(&["--live-restore"]).await;
    let run = run_in(&daemon, EngineChoice::Agent);
    let mut opened = run.open(job(BUSYBOX)).await;
    opened.trace.clear();
    let trace = opened.trace.clone();
    let script = "i=0; while [ $i -lt 60 ]; do i=$((i + 1)); echo line $i; sleep 0.1; done; exit 7";
    let restart = async {
        trace.wait_for(TraceStream::STDOUT, "line 5\n").await;
        daemon.restart(Signal::TERM).await;
    };
    let command = CommandBuilder::new(script).working_dir("/");
    let (ran, ()) = tokio::join!(opened.run(command), restart);
    match ran {
        Ok(result) => assert_eq!(result.status.exit_code(), ExitCode(7)),
        Err(error) => panic!("{}", error.chain()),
    }
    let expect: Vec<_> = (1..=60).map(|number| format!("line {number}\n")).collect();
    assert_eq!(trace.text(TraceStream::STDOUT), expect.concat());
    opened.executor.cleanup().await.unwrap();
    assert_eq!(daemon.containers().await, Vec::<String>::new());
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_without_our_files_gets_them_as_a_stream() {
    let ours = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::start_without(&[], Some(ours.path().to_owned())).await;
    for choice in [EngineChoice::Agent, EngineChoice::Exec] {
        let in_ours = || {
            let mut run = run_in(&daemon, choice);
            run.config.host_builds_dir = Some(ours.path().to_str().unwrap().to_owned());
            run
        };
        let run = in_ours();
        let mut opened = run.open(job(BUSYBOX)).await;
        let workspace = &opened.environment.workspace;
        assert!(!workspace.is_local(), "{choice:?}: {workspace:?}");
        opened.executor.cleanup().await.unwrap();
        let parts = ["file_transfer", "stages_share_files", "file_variables"];
        report(in_ours(), BUSYBOX, &parts)
            .await
            .assert_part_passed();
    }
    assert_eq!(daemon.containers().await, Vec::<String>::new());
    // These were created before the engine turned out not to see the directory.
    let private = ours.path().join(".tmp").read_dir().unwrap();
    let left: Vec<_> = private.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_engine_is_reported_with_help() {
    let directory = tempfile::tempdir().unwrap();
    let address = format!("unix://{}/docker.sock", directory.path().display());
    let run = Run::new(DockerConfig {
        host: Some(address.clone()),
        ..settings()
    });
    let Err((error, mut executor, _)) = run.try_open(job(BUSYBOX)).await else {
        panic!("it was prepared");
    };
    let message = error.chain();
    assert!(
        message.contains(&address) && message.contains("start Docker"),
        "{message}"
    );
    assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
    assert!(error.is_temporary(), "{message}");
    executor.cleanup().await.unwrap();
}
