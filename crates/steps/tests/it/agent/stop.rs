//! The end of an agent with running requests.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use process::Stream;
use rustix::process::{Pid, Signal};
use steps::{ClientOptions, RunId, RunSpec, StepsClient, StepsError};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use super::support::{Serving, eventually};

/// Connects to a socket of this machine.
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
    let options = ClientOptions {
        // No connection is dropped because the machine is busy.
        keep_alive: Duration::from_mins(10),
        ..ClientOptions::default()
    };
    StepsClient::new(connector, options)
}

/// A script that writes its process id and that of its child, and reacts to SIGTERM.
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

/// Waits until none of these processes runs; a zombie has no command line.
fn until_gone(pids: &[Pid]) {
    let line = |pid: &Pid| fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
    eventually("they are gone", || {
        let mut lines = pids.iter().map(line);
        lines.all(|line| line.unwrap_or_default().is_empty())
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signal_ends_running_requests_and_followers_see_it() {
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
    // The result could be fetched: the service is not lost.
    assert!(!matches!(ended, Err(StepsError::Lost { .. })), "{ended:?}");
    let (status, said) = serving.wait();
    assert_eq!(status.code(), Some(0), "{said}");
    until_gone(&pids);
    let left: Vec<_> = fs::read_dir(&agent).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_requests_end_when_no_client_returns() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("agent");
    let directory = directory.to_str().unwrap();
    let mut serving = Serving::start(&["--directory", directory, "--orphan-grace", "15s"]);
    let run = restless(root.path());
    let pids = {
        let client = client(&serving);
        let mut sink = |_: Stream, _: &[u8]| {};
        let never = Cancellation::new();
        let folder = root.path().to_owned();
        let found = tokio::task::spawn_blocking(move || pids(&folder));
        tokio::select! {
            ended = client.execute(&run, &mut sink, &never) => panic!("ended early: {ended:?}"),
            found = found => found.unwrap(),
        }
    };
    // The connection is gone with the client, and the agent waits for another one.
    assert!(serving.child.try_wait().unwrap().is_none());
    let (status, said) = serving.wait();
    assert!(said.contains("no client was connected"), "{said}");
    assert_eq!(status.code(), Some(0));
    until_gone(&pids);
}

/// An archive that never continues.
struct Stalled;

impl AsyncRead for Stalled {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_transfers_do_not_block_others() {
    let root = tempfile::tempdir().unwrap();
    let serving = Serving::in_directory(&root.path().join("agent"));
    let files = client(&serving).files();
    let never = Cancellation::new();
    let folder = |number: usize| root.path().join(number.to_string());
    let stalled = (0..20).map(|number| {
        let (files, never) = (Arc::clone(&files), never.clone());
        let to = folder(number).display().to_string();
        async move { files.put(&to, Box::new(Stalled), &never).await }
    });
    let mut stalled: JoinSet<_> = stalled.collect();
    let there = (0..20).map(folder).collect::<Vec<_>>();
    let begun = tokio::task::spawn_blocking(move || {
        eventually("each has begun", || there.iter().all(|path| path.is_dir()));
    });
    begun.await.unwrap();
    fs::write(root.path().join("there"), "what is asked for").unwrap();
    let paths = ["there".to_owned()];
    let from = root.path().display().to_string();
    let mut archive = files.get(&from, &paths, &never).await.unwrap();
    let mut bytes = Vec::new();
    archive.read_to_end(&mut bytes).await.unwrap();
    let archive = String::from_utf8_lossy(&bytes);
    assert!(archive.contains("what is asked for"), "{archive}");
    assert!(stalled.try_join_next().is_none());
    stalled.shutdown().await;
}
