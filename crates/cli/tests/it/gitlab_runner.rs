//! `runwright runner` against a job server: registration, jobs, and signals.

#![expect(
    clippy::disallowed_methods,
    reason = "the program under test, which a test kills"
)]

mod takeover;

use crate::kubernetes::Namespace;
use crate::project::wait_until;
use gitlab_testkit::{Endpoint, JobServer, JobServerState, Sshd};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_mins(1);
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
        let mut command = self.command_without_config(words);
        command.arg("--config").arg(self.config());
        command
    }

    fn command_without_config(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runwright"));
        command
            .arg("runner")
            .args(words)
            .current_dir(self.dir.path())
            .env("RUNWRIGHT_HOME", self.dir.path().join("home"))
            // Login shells of jobs read no profile of this machine, whose locks a kill would leave.
            .env("HOME", self.dir.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        Self::output(self.command(words))
    }

    fn run_without_config(&self, words: &[&str]) -> (Option<i32>, String) {
        Self::output(self.command_without_config(words))
    }

    fn output(mut command: Command) -> (Option<i32>, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
        let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
        (status.code(), text.into_owned())
    }

    fn register(&self) {
        self.register_with(&["--executor", "shell"]);
    }

    fn register_with(&self, options: &[&str]) {
        let url = self.server.url();
        let words = [
            "register", "-n", "--url", &url, "--token", TOKEN, "--name", "one",
        ];
        let (code, text) = self.run(&[&words, options].concat());
        assert_eq!(code, Some(0), "{text}");
        let next = format!("runwright runner run --config {}`", self.config().display());
        assert!(text.contains(&next), "{text}");
    }

    /// Registers a runner whose jobs run in containers of the test engine.
    fn register_docker(&self) {
        let host = format!("docker.host={}", crate::docker::address());
        let image = "runwright-test/busybox:1";
        let executor = ["--executor", "docker", "--docker-image", image];
        let settings = ["--set", &host, "--set", "docker.pull_policy=if-not-present"];
        self.register_with(&[executor, settings].concat());
    }

    /// Registers a runner whose jobs run in pods of a namespace of the test cluster.
    fn register_kubernetes(&self, namespace: &Namespace) {
        let namespace = format!("kubernetes.namespace={}", namespace.0);
        self.register_with(&[
            "--executor",
            "kubernetes",
            "--set",
            "kubernetes.image=runwright.test/busybox:1",
            "--set",
            &namespace,
        ]);
    }

    /// Registers a runner whose jobs run on a host.
    fn register_ssh(&self, host: &Sshd) {
        let settings = [
            "ssh.host=127.0.0.1".to_owned(),
            format!("ssh.port={}", host.address().port()),
            format!("ssh.identity_file={}", host.key().display()),
            format!("ssh.known_hosts_file={}", host.known_hosts().display()),
        ];
        let mut options = vec!["--executor", "ssh"];
        options.extend(settings.iter().flat_map(|it| ["--set", it]));
        self.register_with(&options);
    }

    /// Waits until the log of a job has a text.
    fn wait_for_text(&self, id: u64, text: &str) {
        let has_it = |it: &JobServerState| String::from_utf8_lossy(it.trace(id)).contains(text);
        assert!(self.server.wait_until(PATIENCE, has_it), "{text}");
    }

    fn start(&self) -> Child {
        self.start_with_log("log")
    }

    /// Starts a runner, whose own log is a file with this name.
    fn start_with_log(&self, name: &str) -> Child {
        let log = File::create(self.dir.path().join(name)).unwrap();
        self.command(&["run"]).stderr(log).spawn().unwrap()
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap()
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

/// Ends a runner after its jobs.
fn end_after_jobs(runner: Child) {
    signal(&runner, Signal::QUIT);
    assert_eq!(ended(runner), Some(0));
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
    end_after_jobs(runner);
    let end = place.server.final_update(1).unwrap();
    assert_eq!(end["state"], "success");
    assert!(String::from_utf8_lossy(&place.server.trace(1)).contains("end"));
    assert_eq!(
        place.run(&["unregister", "--name", "one"]),
        (Some(0), "one is removed\n".to_owned())
    );
    assert_eq!(place.run(&["list"]).1, "");
    assert!(place.run(&["verify"]).1.contains("has no runners"));
    assert_eq!(place.server.violations(), Vec::<String>::new());
}

#[test]
fn single_runner_ends_after_its_jobs_or_without_any() {
    let place = Place::new();
    let url = place.server.url();
    let single = |limit: &[&str]| {
        let words = [
            "run-single",
            "-u",
            &url,
            "-t",
            TOKEN,
            "--executor",
            "shell",
            "--name",
            "one",
        ];
        let (code, text) = place.run_without_config(&[&words, limit].concat());
        assert_eq!(code, Some(0), "{text}");
    };
    for id in 1..=3 {
        place.queue(id, "echo hello");
    }
    single(&["--max-builds", "2"]);
    let is_ended = |id| place.server.final_update(id).is_some();
    assert_eq!([1, 2, 3].map(is_ended), [true, true, false]);
    single(&["--wait-timeout", "3"]);
    assert!(is_ended(3));
    let state = place.dir.path().join("home/runners/single-one");
    assert!(state.is_dir() && !state.join("config.toml").exists());
    let (code, text) = place.run_without_config(&["run-single", "-u", &url, "-t", TOKEN]);
    assert_eq!(code, Some(2));
    assert!(text.contains("--executor is missing"), "{text}");
}

#[test]
fn requests_of_each_executor_have_its_features() {
    // R-EXEC-103
    let place = Place::new();
    let entries = [
        ("custom", "[runners.custom]\nrun_exec = \"/bin/true\"\n"),
        ("docker", "[runners.docker]\nimage = \"a\"\n"),
        (
            "kubernetes",
            "[runners.kubernetes]\nimage = \"a\"\nhost = \"https://127.0.0.1:9\"\nbearer_token = \"t\"\n",
        ),
        ("shell", ""),
        (
            "ssh",
            "[runners.ssh]\nhost = \"127.0.0.1\"\nport = \"9\"\nuser = \"u\"\npassword = \"p\"\n",
        ),
    ];
    let mut config = "concurrent = 9\n".to_owned();
    for (executor, tables) in entries {
        let url = place.server.url();
        let _ = write!(
            config,
            "[[runners]]\nname = \"{executor}\"\nurl = \"{url}\"\ntoken = \"glrt-{executor}\"\nexecutor = \"{executor}\"\n{tables}"
        );
    }
    fs::write(place.config(), config).unwrap();
    let runner = place.start();
    let infos = |state: &JobServerState| {
        let requests = state
            .calls()
            .iter()
            .filter(|it| it.endpoint == Endpoint::Request);
        let infos = requests.map(|it| it.field("info").clone());
        infos
            .map(|it| (it["executor"].as_str().unwrap().to_owned(), it))
            .collect::<BTreeMap<_, _>>()
    };
    let all = place
        .server
        .wait_until(PATIENCE, |it| infos(it).len() == entries.len());
    let infos = place.server.with_state(infos);
    assert!(all, "{:?}", infos.keys());
    end_after_jobs(runner);
    let mut lines = String::new();
    for (executor, info) in &infos {
        let features = info["features"].as_object().unwrap().iter();
        let on = features
            .filter(|(_, on)| **on == json!(true))
            .map(|(name, _)| name.as_str());
        let on: Vec<&str> = on.collect();
        let _ = writeln!(
            lines,
            "{executor} ({}): {}",
            info["shell"].as_str().unwrap(),
            on.join(" ")
        );
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn signal_to_end_interrupts_jobs_and_reports_them() {
    let place = Place::new();
    place.register();
    let runner = place.start();
    place.queue(
        1,
        "trap 'echo the script ends; exit 9' TERM; echo it begins; while :; do sleep 0.1; done",
    );
    place.wait_for_text(1, "it begins\n");
    signal(&runner, Signal::TERM);
    assert_eq!(ended(runner), Some(0));
    let end = place.server.final_update(1).unwrap();
    assert_eq!(end["failure_reason"], "runner_interrupted");
    let log = String::from_utf8_lossy(&place.server.trace(1)).into_owned();
    assert!(log.contains("the script ends\n"), "{log}");
}

#[test]
fn registration_token_creates_a_runner() {
    let place = Place::new();
    place.server.next_runner_token("glrt-created");
    let url = place.server.url();
    let words = [
        "register",
        "-n",
        "-u",
        &url,
        "-r",
        "GR1348941abcdefghi",
        "--name",
        "one",
    ];
    let register = |options: &[&str]| place.run(&[&words, options].concat());
    let (code, text) = register(&["--executor", "docker"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("--docker-image is missing"), "{text}");
    assert_eq!(place.server.calls().len(), 0);
    let (code, text) = register(&["--executor", "shell", "--tag-list", "a,b"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(place.server.calls()[0].endpoint, Endpoint::Register);
    let config = fs::read_to_string(place.config()).unwrap();
    assert!(
        config.contains("\"glrt-created\"") && !config.contains("GR13"),
        "{config}"
    );
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
    let url = place.server.url();
    let words = ["register", "-n", "--url", &url, "--token", "glrt-two"];
    for (executor, setting, expected) in [
        (
            "shell",
            "limitt=1",
            "unknown key `limitt`; did you mean `limit`?",
        ),
        ("ssh", "ssh.port=abc", "`port`: \"abc\" is not a port"),
    ] {
        let options = ["--name", "two", "--executor", executor, "--set", setting];
        let (code, text) = place.run(&[&words[..], &options].concat());
        assert_eq!(code, Some(2));
        assert!(
            text.contains(expected) && text.contains("nothing was written"),
            "{text}"
        );
    }
    assert_eq!(fs::read_to_string(place.config()).unwrap(), good);
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
    end_after_jobs(runner);
}

#[test]
fn file_without_runners_is_served_with_a_warning_and_by_one_process() {
    let place = Place::new();
    fs::write(place.config(), "concurrent = 1\n").unwrap();
    let runner = place.start();
    let warning = "There is no [[runners]] yet; `runwright runner register` adds one.";
    wait_until("a warning", || place.log("log").contains(warning));
    let (code, text) = place.run(&["run"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("another runner uses"), "{text}");
    fs::write(place.config(), "concurrent = 2\n").unwrap();
    signal(&runner, Signal::HUP);
    let warnings = || place.log("log").matches(warning).count();
    wait_until("the same after a reload", || warnings() == 2);
    end_after_jobs(runner);
}
