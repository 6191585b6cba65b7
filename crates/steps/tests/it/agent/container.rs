//! A container with a serving agent; removed when it is dropped.

use parking_lot::Mutex;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use steps::agent::{self, Agent};
use tokio::io::join;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::support::errors;

/// The path of the agent in a container, and its directory.
pub(crate) const PROGRAM: &str = "/.agent/runwright-agent";
pub(crate) const DIRECTORY: &str = "/run/agent";

/// Returns the static agent.
pub(crate) fn static_agent() -> Agent {
    agent::find().unwrap_or_else(|error| {
        panic!(
            "{error}: run the tests by `cargo xtask test -- -p runwright-steps`, which builds it"
        )
    })
}

/// Returns a command of Docker.
pub(crate) fn docker<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let address = std::env::var_os("RUNWRIGHT_TEST_DOCKER")
        .expect("RUNWRIGHT_TEST_DOCKER must name Docker: run the tests by `cargo xtask test`");
    #[expect(
        clippy::disallowed_methods,
        reason = "the tests use Docker from outside"
    )]
    let mut command = Command::new("docker");
    command
        .env("DOCKER_HOST", address)
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// Runs Docker, and returns its output.
pub(crate) fn docker_output(arguments: &[&str]) -> Output {
    docker(arguments).output().unwrap()
}

/// A container whose main process is an agent.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) name: String,
    proxies: Mutex<Vec<Child>>,
}

impl Container {
    /// Starts a container with options of `docker run`, an image and arguments, and the agent in it.
    pub(crate) fn start(options: &[&str], image: &str, words: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("steps-test-{}-{number}", std::process::id());
        let agent = static_agent();
        let path: PathBuf = agent.path().unwrap().into();
        let mount = format!("{}:{PROGRAM}:ro", path.display());
        let fixed = ["run", "--detach", "--network=none", "--label=steps-test"];
        let run = docker(fixed)
            .args(["--name", &name, "--volume", &mount])
            .args(options)
            .arg(image)
            .args(words)
            .output()
            .unwrap();
        // From here on it is removed in any case.
        let container = Self {
            name,
            proxies: Mutex::default(),
        };
        assert!(run.status.success(), "{}", errors(&run));
        container.await_ready();
        container
    }

    /// Waits for the agent's line in the log of the container.
    fn await_ready(&self) {
        let mut logs = docker(["logs", "--follow", &self.name])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(logs.stderr.take().unwrap()).lines();
        let mut seen = Vec::new();
        for line in lines.map_while(Result::ok) {
            seen.push(line);
            if seen
                .last()
                .is_some_and(|line| line.starts_with(agent::READY))
            {
                let _ = logs.kill();
                logs.wait().unwrap();
                return;
            }
        }
        logs.wait().unwrap();
        panic!("the agent never was ready: {seen:?}");
    }

    /// Runs a program in the container.
    pub(crate) fn exec(&self, words: &[&str]) -> Output {
        docker(["exec", &self.name]).args(words).output().unwrap()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        docker_output(&["rm", "--force", "--volumes", &self.name]);
        for proxy in self.proxies.get_mut() {
            let _ = proxy.wait();
        }
    }
}

/// Connects like any runner: by the program, run in the container.
#[async_trait]
impl StepsConnector for Container {
    async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
        let proxy = agent::proxy_command(PROGRAM, DIRECTORY);
        let mut child: Child = docker(["exec", "--interactive", &self.name])
            .args(proxy)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = Sender::from_owned_fd(child.stdin.take().unwrap().into()).unwrap();
        let output = Receiver::from_owned_fd(child.stdout.take().unwrap().into()).unwrap();
        // It ends when the connection is dropped, or with the container.
        self.proxies.lock().push(child);
        Ok(Box::new(join(output, input)))
    }
}
