#![expect(
    clippy::disallowed_methods,
    reason = "a test starts the program that it tests"
)]

use super::*;
use crate::this_host::ThisHost;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

#[test]
fn words_before_the_call_are_the_operators() {
    let read = |words: &str| {
        let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
        Call::read(&words).map(|(call, operators)| (call, operators.join(" ")))
    };
    let is = |call: Call, operators: &str| Ok((call, operators.to_owned()));
    assert_eq!(read("config"), is(Call::Config, ""));
    assert_eq!(read("--verbose prepare"), is(Call::Prepare, "--verbose"));
    let run = Call::Run {
        script: "/tmp/s".to_owned(),
        stage: "cleanup".to_owned(),
    };
    assert_eq!(read("-v 3 run /tmp/s cleanup"), is(run, "-v 3"));
    let older_than = Duration::from_mins(1);
    assert_eq!(read("sweep 60"), is(Call::Sweep { older_than }, ""));
    for wrong in ["", "start", "run", "sweep soon", "config --help"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

/// Names the directory of the driver that panics.
const DIRECTORY: &str = "DRIVER_TEST_DIRECTORY";

/// Names the method that panics.
const FAULTY: &str = "DRIVER_TEST_FAULTY";

/// A driver for this host, with a fault in one method.
struct Faulty {
    store: Store,
}

fn panic_in(method: &str) {
    assert!(
        env::var(FAULTY).as_deref() != Ok(method),
        "a fault in {method}"
    );
}

impl Driver for Faulty {
    fn config(&self, _job: &JobContext) -> Result<DriverConfig, Failure> {
        panic_in("config");
        let directory = self.store.path("").display().to_string();
        Ok(DriverConfig {
            builds_dir: directory.clone(),
            cache_dir: directory,
            shell: "sh".to_owned(),
            ..DriverConfig::default()
        })
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn prepare(
        &self,
        _name: &str,
        _job: &JobContext,
        _record: &Record,
        _stage: &Stage<'_>,
    ) -> Result<(), Failure> {
        panic_in("prepare");
        Ok(())
    }

    fn connect(
        &self,
        _name: &str,
        script: &str,
        _record: &Record,
        _stage: &Stage<'_>,
    ) -> Result<Box<dyn Target>, Failure> {
        if script == "build_script" {
            panic_in("connect");
        }
        Ok(Box::new(ThisHost))
    }

    fn cleanup(&self, _name: &str, _record: &Record, _cleanup: &mut Cleanup<'_>) {
        panic_in("cleanup");
    }
}

/// Not a case of its own: the cases start this binary with this test alone.
#[test]
fn acts_as_program() {
    let Some(directory) = env::var_os(DIRECTORY) else {
        return;
    };
    let new = |_: &JobContext| {
        panic_in("new");
        let store = Store::open(&directory)?;
        Ok(Faulty { store })
    };
    std::process::exit(exit_code(new).into());
}

fn program(directory: &TempDir, faulty: &str, call: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--nocapture", "--test-threads=2", "--exact"])
        .arg("driver::tests::acts_as_program")
        .args(call)
        .env(DIRECTORY, directory.path())
        .env(FAULTY, faulty)
        .env("SYSTEM_FAILURE_EXIT_CODE", "42")
        .env("CUSTOM_ENV_CI_JOB_ID", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn panic_in_a_stage_is_a_failure_of_the_system() {
    for (faulty, call) in [
        ("new", &["config"][..]),
        ("config", &["config"]),
        ("prepare", &["prepare"]),
        ("connect", &["run", "/dev/null", "build_script"]),
        ("cleanup", &["cleanup"]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let output = program(&directory, faulty, call).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let message = format!("the driver panicked, which is an error in it: a fault in {faulty}");
        assert!(text.contains(&message), "{text}");
        assert_eq!(output.status.code(), Some(42), "{text}");
    }
}

/// A driver that serves calls.
struct Served {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Served {
    fn start(directory: &TempDir, faulty: &str) -> Self {
        let mut child = program(directory, faulty, &["serve"]).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while line != "running 1 test\n" {
            line.clear();
            stdout.read_line(&mut line).unwrap();
        }
        Self { child, stdout }
    }

    /// Calls the driver, and returns the end of the call.
    fn call(&mut self, id: u32, name: &str, params: &Value) -> Value {
        let header = json!({ "id": id, "call": name, "params": params }).to_string();
        let length = u32::try_from(header.len()).unwrap();
        let mut frame = length.to_be_bytes().to_vec();
        frame.extend([0; 4]);
        frame.extend(header.bytes());
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(&frame).unwrap();
        loop {
            let mut lengths = [0; 8];
            self.stdout.read_exact(&mut lengths).unwrap();
            let [h0, h1, h2, h3, p0, p1, p2, p3] = lengths;
            let [header, payload] = [[h0, h1, h2, h3], [p0, p1, p2, p3]].map(|length| {
                let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
                self.stdout.read_exact(&mut bytes).unwrap();
                bytes
            });
            let header: Value = serde_json::from_slice(&header).unwrap();
            assert_eq!(header["id"], id);
            if header["log"].is_null() {
                return header;
            }
            assert!(payload.ends_with(b"\n"), "{payload:?}");
        }
    }

    /// Ends the input, and returns the exit code and the log.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.child.stdin.take());
        let output = self.child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), text)
    }
}

#[test]
fn panic_in_a_call_fails_that_call() {
    for (faulty, failing) in [
        ("config", "describe"),
        ("prepare", "prepare"),
        ("connect", "run"),
        ("cleanup", "cleanup"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).display().to_string();
        let mut driver = Served::start(&directory, faulty);
        let dirs = json!({
            "builds_dir": at("b"), "cache_dir": at("c"), "project_dir": at("b/p"), "temp_dir": at("t"),
        });
        let run = json!({
            "environment": "e", "stage": "build_script", "shell": "sh", "working_dir": "/", "script_size": 0,
            "temp_dir": at("t"),
        });
        let prepare = json!({ "environment": "e", "job": { "id": 1 }, "dirs": dirs });
        let calls = [
            ("describe", json!({})),
            ("prepare", prepare),
            ("run", run),
            ("cleanup", json!({ "environment": "e" })),
        ];
        for (id, (name, params)) in (1..).zip(calls) {
            let end = driver.call(id, name, &params);
            let message = end["error"]["message"].as_str().unwrap_or_default();
            assert_eq!(
                message.ends_with(&format!("a fault in {faulty}")),
                name == failing,
                "{end}"
            );
            if name == failing {
                assert_eq!(end["error"]["kind"], "temporary");
                // What follows needs it.
                break;
            }
        }
        // It serves on, and ends as usual.
        let status = driver.call(9, "status", &json!({}));
        assert!(status["result"].is_object(), "{status}");
        let (code, text) = driver.end();
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(&format!("a fault in {faulty}")), "{text}");
    }
}
