//! `runwright runner` against a job server: registration, jobs, signals, and a runner that is killed again and again.

use gitlab_testkit::{Endpoint, JobServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
const TOKEN: &str = "glrt-abcdefghijkl";

struct Place {
    dir: TempDir,
    server: JobServer,
}

impl Place {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            server: JobServer::start(),
        }
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("config.toml")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runwright"));
        command
            .arg("runner")
            .args(words)
            .arg("--config")
            .arg(self.config())
            .current_dir(self.dir.path())
            .env("RUNWRIGHT_HOME", self.dir.path().join("home"))
            // Login shells of jobs read no profile of this machine, whose locks a kill would leave.
            .env("HOME", self.dir.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(words).output().unwrap();
        let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
        (status.code(), text.into_owned())
    }

    fn register(&self) {
        let url = self.server.url();
        let words = [
            "register",
            "-n",
            "--url",
            &url,
            "--token",
            TOKEN,
            "--executor",
            "shell",
            "--name",
            "one",
        ];
        let (code, text) = self.run(&words);
        assert_eq!(code, Some(0), "{text}");
    }

    fn start(&self) -> Child {
        self.command(&["run"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn queue(&self, id: u64, script: &str) {
        self.server.queue(json!({
            "id": id,
            "token": format!("glcbt-64_job{id}"),
            "job_info": {"name": "job", "stage": "test", "project_id": 1, "project_name": "p", "project_full_path": "g/p"},
            "runner_info": {"timeout": 3600},
            "variables": [{"key": "GIT_STRATEGY", "value": "none", "public": true}],
            "steps": [{"name": "script", "script": [script], "timeout": 3600, "when": "on_success"}],
            "features": {"failure_reasons": ["runner_interrupted"]},
        }));
    }

    fn wait_for_end(&self, id: u64) {
        let ended = self
            .server
            .wait_until(PATIENCE, |it| it.final_update(id).is_some());
        assert!(ended, "job {id} has an end");
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn ended(mut child: Child) -> Option<i32> {
    let ends = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > ends {
            child.kill().unwrap();
            panic!("the runner does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn registered_runner_takes_jobs_and_ends_after_them() {
    let place = Place::new();
    place.register();
    let (code, text) = place.run(&["list"]);
    assert_eq!(code, Some(0));
    assert!(
        text.starts_with("one  abcdefghi  shell  http://127.0.0.1:"),
        "{text}"
    );
    assert_eq!(
        place.run(&["verify"]),
        (Some(0), "one is known\n".to_owned())
    );
    assert_eq!(place.run(&["status"]).0, Some(1));
    let runner = place.start();
    place.queue(1, "echo begin; sleep 1; echo end");
    let runs = place
        .server
        .wait_until(PATIENCE, |it| it.is_acknowledged(1));
    assert!(runs);
    assert_eq!(place.run(&["status"]).0, Some(0));
    signal(&runner, Signal::QUIT);
    assert_eq!(ended(runner), Some(0));
    let end = place.server.final_update(1).unwrap();
    assert_eq!(end["state"], "success");
    assert!(String::from_utf8_lossy(&place.server.trace(1)).contains("end"));
    assert_eq!(
        place.run(&["unregister", "--name", "one"]),
        (Some(0), "one is removed\n".to_owned())
    );
    assert_eq!(place.run(&["list"]).1, "");
    assert_eq!(place.server.violations(), Vec::<String>::new());
}

#[test]
fn signal_to_end_interrupts_jobs_and_reports_them() {
    let place = Place::new();
    place.register();
    let runner = place.start();
    place.queue(1, "echo begin; sleep 600");
    assert!(
        place
            .server
            .wait_until(PATIENCE, |it| !it.trace(1).is_empty())
    );
    signal(&runner, Signal::TERM);
    assert_eq!(ended(runner), Some(0));
    let end = place.server.final_update(1).unwrap();
    assert_eq!(end["failure_reason"], "runner_interrupted");
}

#[test]
fn broken_settings_are_refused_at_the_start_and_ignored_later() {
    let place = Place::new();
    place.register();
    let good = fs::read_to_string(place.config()).unwrap();
    fs::write(place.config(), good.replace("executor", "exekutor")).unwrap();
    let (code, text) = place.run(&["run"]);
    assert_eq!(code, Some(2));
    assert!(
        text.contains("config.toml:15:3: unknown key `exekutor`; did you mean `executor`?"),
        "{text}"
    );
    fs::write(place.config(), &good).unwrap();
    let runner = place.start();
    assert!(
        place
            .server
            .wait_until(PATIENCE, |it| it.count(Endpoint::Request) > 0)
    );
    fs::write(place.config(), "concurrent = [").unwrap();
    signal(&runner, Signal::HUP);
    place.queue(1, "echo hello");
    place.wait_for_end(1);
    signal(&runner, Signal::QUIT);
    assert_eq!(ended(runner), Some(0));
}

/// The number of kills; the whole proof takes 300.
fn kills() -> u64 {
    let number = std::env::var("RUNWRIGHT_TEST_KILLS").ok();
    number.map_or(8, |it| it.parse().unwrap())
}

#[test]
fn killed_runner_loses_no_end_of_a_job_and_no_line_of_its_log() {
    const LINES: usize = 300;
    let place = Place::new();
    place.register();
    let script = format!(
        "i=1; while [ $i -le {LINES} ]; do echo line $i of {LINES}; i=$((i+1)); done; sleep 0.2"
    );
    let mut next = 1;
    for kill in 0..kills() {
        let mut runner = place.start();
        while place.server.with_state(|it| it.queued()) < 2 {
            place.queue(next, &script);
            next += 1;
        }
        // Other moments each time, without a random number to repeat.
        std::thread::sleep(Duration::from_millis(100 + kill * 37 % 700));
        runner.kill().unwrap();
        runner.wait().unwrap();
    }
    let runner = place.start();
    for id in 1..next {
        place.wait_for_end(id);
        let end = place.server.final_update(id).unwrap();
        let log = String::from_utf8_lossy(&place.server.trace(id)).into_owned();
        let lines = log
            .lines()
            .filter(|it| it.contains(&format!("of {LINES}")) && it.contains("line"));
        let count = lines.filter(|it| !it.contains("while")).count();
        match end["state"].as_str() {
            Some("success") => assert_eq!(count, LINES, "{log}"),
            _ => {
                assert_eq!(end["failure_reason"], "runner_system_failure", "{log}");
                assert!(log.contains("the runner was killed"), "{log}");
            }
        }
    }
    signal(&runner, Signal::QUIT);
    assert_eq!(ended(runner), Some(0));
    let mut violations = place.server.violations();
    // The next runner learns from the server how much of a log it has.
    violations.retain(|it| !it.contains("a piece begins at 0"));
    assert_eq!(violations, Vec::<String>::new());
    let outbox = fs::read_dir(place.dir.path().join("home/runners")).unwrap();
    for state in outbox.flatten() {
        let left = fs::read_dir(state.path().join("outbox")).unwrap().flatten();
        assert_eq!(left.filter(|it| it.path().is_dir()).count(), 0);
    }
}
