//! The end of an agent while it runs something.

use std::fs;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use process::Stream;
use rustix::process::{Pid, Signal, test_kill_process};
use steps::{ClientOptions, RunId, RunSpec, StepsClient, StepsError};
use tokio::net::UnixStream;

use super::support::{Serving, eventually};

/// Goes to a socket of this machine.
#[derive(Debug)]
struct Local(PathBuf);

#[async_trait]
impl StepsConnector for Local {
    async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
        let connected = UnixStream::connect(&self.0).await;
        let stream = connected.map_err(|error| BuildError::system("test", "connect", error))?;
        Ok(Box::new(stream))
    }
}

fn client(serving: &Serving) -> StepsClient {
    let connector = Arc::new(Local(serving.socket.clone()));
    StepsClient::new(connector, ClientOptions::default())
}

/// A script that notes its process and that of its child, and says when it is asked to end.
fn restless(folder: &Path) -> RunSpec {
    let pids = folder.join("pids");
    let script = format!(
        "trap 'echo asked; exit 0' TERM; setsid sleep 600 & echo $$ $! > {0}.new; mv {0}.new {0}; wait",
        pids.display()
    );
    RunSpec::script(RunId::new("restless"), script)
}

fn pids(folder: &Path) -> Vec<Pid> {
    let path = folder.join("pids");
    eventually("the script runs", || path.exists());
    let text = fs::read_to_string(path).unwrap();
    let numbers = text.split_ascii_whitespace();
    numbers
        .map(|number| Pid::from_raw(number.parse().unwrap()).unwrap())
        .collect()
}

fn are_gone(pids: &[Pid]) -> bool {
    pids.iter().all(|pid| test_kill_process(*pid).is_err())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_what_runs_and_whoever_follows_sees_it() {
    // R-STEP-07, R-STEP-11
    let root = tempfile::tempdir().unwrap();
    let agent = root.path().join("agent");
    let serving = Serving::in_directory(&agent);
    let (client, run) = (client(&serving), restless(root.path()));
    let mut output = Vec::new();
    let mut sink = |_: Stream, bytes: &[u8]| output.extend_from_slice(bytes);
    let cancellation = Cancellation::new();
    let (ended, pids) = tokio::join!(client.execute(&run, &mut sink, &cancellation), async {
        let folder = root.path().to_owned();
        let found = tokio::task::spawn_blocking(move || pids(&folder));
        let found = found.await.unwrap();
        serving.signal(Signal::TERM);
        found
    });
    assert_eq!(output, b"asked\n", "{ended:?}");
    // The result was there to be asked for: it is not that the service was lost.
    assert!(!matches!(ended, Err(StepsError::Lost { .. })), "{ended:?}");
    let (status, said) = serving.wait();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(are_gone(&pids), "{pids:?}");
    let left: Vec<_> = fs::read_dir(&agent).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_runs_keeps_the_agent_though_nobody_is_connected() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("agent");
    let directory = directory.to_str().unwrap();
    let mut serving = Serving::start(&["--directory", directory, "--orphan-grace", "300ms"]);
    let go = root.path().join("go");
    let script = format!("while [ ! -e {} ]; do sleep 0.05; done", go.display());
    let run = RunSpec::script(RunId::new("alone"), script);
    {
        let client = client(&serving);
        let mut sink = |_: Stream, _: &[u8]| {};
        let never = Cancellation::new();
        let followed = client.execute(&run, &mut sink, &never);
        let limit = std::time::Duration::from_secs(1);
        assert!(tokio::time::timeout(limit, followed).await.is_err());
    }
    // The connection is gone with the client; several graces pass.
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(serving.child.try_wait().unwrap().is_none());
    StdStream::connect(&serving.socket).unwrap();
    fs::write(&go, "").unwrap();
    let (status, said) = serving.wait();
    assert!(said.contains("nobody was here"), "{said}");
    assert_eq!(status.code(), Some(0));
}
