//! An agent, and a driver that is called as a runner calls it.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use tempfile::TempDir;

const BUILD_FAILURE: i32 = 41;
const SYSTEM_FAILURE: i32 = 42;

#[expect(
    clippy::disallowed_methods,
    reason = "a test starts the programs that it tests"
)]
pub(crate) fn program(path: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(path)
}

/// The agent with its files. It ends, with its machines, when this is dropped.
pub(crate) struct Agent {
    pub(crate) root: TempDir,
    pub(crate) port: u16,
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Agent {
    pub(crate) fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut child = program("python3")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/agent.py"))
            .arg(root.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is installed");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.trim().parse().expect("the agent prints its port");
        let stdin = child.stdin.take();
        let agent = Self {
            root,
            port,
            child,
            stdin,
        };
        agent.write_settings("", "");
        agent
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes the settings of the driver, with these keys, and with these tables.
    pub(crate) fn write_settings(&self, keys: &str, tables: &str) {
        let text = format!(
            "host = \"jeballto\"\nbuilds-dir = \"{root}/builds\"\ncache-dir = \"{root}/cache\"\n{keys}\n\
             [image]\ndefault = \"base\"\n[ssh]\nuser = \"root\"\nidentity-file = \"user\"\n\
             [limits]\npoll = 20\nprepare = 60\ncleanup = 60\n[jeballto]\nurl = \"http://127.0.0.1:{port}/\"\n{tables}\n",
            root = self.root.path().display(),
            port = self.port,
        );
        fs::write(self.path("driver.toml"), text).unwrap();
    }

    /// Replaces a part of the settings.
    pub(crate) fn edit_settings(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.path("driver.toml")).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(self.path("driver.toml"), text.replace(from, to)).unwrap();
    }

    /// Changes how the agent behaves, and returns what it has seen.
    pub(crate) fn set(&self, knobs: &Value) -> Value {
        let url = format!("http://127.0.0.1:{}/test", self.port);
        let mut answer = ureq::post(&url).send(knobs.to_string()).unwrap();
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    }

    pub(crate) fn seen(&self) -> Value {
        self.set(&json!({}))
    }

    pub(crate) fn machines(&self) -> Vec<Value> {
        self.seen()["machines"].as_array().unwrap().clone()
    }

    /// Returns the requests so far, with `ID` for the ids of machines and operations.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.seen()["requests"].as_array().unwrap().clone();
        let word = |word: &str| {
            if word.len() == 36 {
                "ID".to_owned()
            } else {
                word.to_owned()
            }
        };
        let line = |it: &Value| {
            it.as_str()
                .unwrap()
                .split('/')
                .map(word)
                .collect::<Vec<_>>()
                .join("/")
        };
        requests.iter().map(line).collect()
    }

    /// Returns the files of the driver's state directory.
    pub(crate) fn stored(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("vm-driver")) else {
            return Vec::new();
        };
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Returns the machines and files that are left.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut left = self.stored();
        left.extend(self.machines().iter().map(Value::to_string));
        left
    }

    pub(crate) fn assert_nothing_remains(&self) {
        assert_eq!(self.left(), Vec::<String>::new());
    }

    /// Returns the processes of QEMU whose files are in the directory of the test.
    pub(crate) fn emulators(&self) -> Vec<u32> {
        let root = self.root.path().display().to_string();
        let all = fs::read_dir("/proc").unwrap().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_own = |pid: &u32| {
            let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline"));
            arguments.is_ok_and(|it| it.starts_with("qemu-system") && it.contains(&root))
        };
        numbers.filter(is_own).collect()
    }

    /// Returns a job with this id.
    pub(crate) fn job(&self, id: u64) -> Job<'_> {
        Job {
            agent: self,
            id,
            variables: Vec::new(),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
        // A failed test has left them.
        for pid in self.emulators() {
            let _ = program("kill").args(["-KILL", &pid.to_string()]).status();
        }
    }
}

/// A job for which the driver is called.
pub(crate) struct Job<'a> {
    agent: &'a Agent,
    id: u64,
    variables: Vec<(String, String)>,
}

impl Job<'_> {
    /// Sets a variable of the driver's environment.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn exit_code_file(&self) -> PathBuf {
        self.agent.path(&format!("exit-code-{}", self.id))
    }

    /// Returns the driver with the environment of a runner.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_runwright-vm-driver"));
        command
            .arg("--config")
            .arg(self.agent.path("driver.toml"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env("JEBALLTO_TOKEN", "secret")
            .env("BUILD_FAILURE_EXIT_CODE", BUILD_FAILURE.to_string())
            .env("SYSTEM_FAILURE_EXIT_CODE", SYSTEM_FAILURE.to_string())
            .env("BUILD_EXIT_CODE_FILE", self.exit_code_file())
            .env("CUSTOM_ENV_CI_JOB_ID", self.id.to_string())
            .env("CUSTOM_ENV_CI_RUNNER_ID", "7")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn call(&self, arguments: &[&str]) -> Done {
        Done::of(self.command(arguments).output().unwrap())
    }

    pub(crate) fn prepare(&self) {
        self.call(&["prepare"]).succeeds();
    }

    pub(crate) fn cleanup(&self) {
        self.call(&["cleanup"]).succeeds();
    }

    /// Writes a script.
    pub(crate) fn script(&self, text: impl AsRef<[u8]>) -> String {
        let path = self.agent.path(&format!("script-{}", self.id));
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub(crate) fn run(&self, text: impl AsRef<[u8]>) -> Done {
        let script = self.script(text);
        self.call(&["run", &script, "build_script"])
    }

    pub(crate) fn name(&self) -> String {
        format!("ci-7-0-0-{}", self.id)
    }

    pub(crate) fn state_file(&self) -> PathBuf {
        self.agent.path(&format!("vm-driver/{}.json", self.name()))
    }
}

/// The end of a stage.
#[derive(Debug)]
pub(crate) struct Done {
    code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Done {
    pub(crate) fn of(output: Output) -> Self {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Self {
            code: output.status.code(),
            stdout: output.stdout,
            stderr,
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn succeeds(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// The job has failed; returns the message.
    pub(crate) fn build_failure(self) -> String {
        assert_eq!(self.code, Some(BUILD_FAILURE), "{self:?}");
        self.stderr
    }

    /// The infrastructure has failed; returns the message.
    pub(crate) fn system_failure(self) -> String {
        assert_eq!(self.code, Some(SYSTEM_FAILURE), "{self:?}");
        self.stderr
    }
}

/// Returns whether a file appears; the driver writes it.
pub(crate) fn await_file(path: &Path) {
    let begun = std::time::Instant::now();
    while !path.exists() {
        assert!(
            begun.elapsed().as_secs() < 30,
            "{} does not appear",
            path.display()
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
