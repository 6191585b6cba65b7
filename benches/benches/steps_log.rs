//! A log through the step-runner and its client, against `cat` of the same to a pipe.
//!
//! `cargo bench -p benches --bench steps_log`. `LOG_MB` sets the amount of output, 100 MB by default; `LOG_DIR` the
//! folder of the spool, by default the directory for temporary files. The median of the ratios compares across machines.
//!
//! The script is `cat` of a file of lines. Service and client are in this process and use a Unix socket, so the time
//! covers the pipe, masks, timestamps, the spool, gRPC, and removing the timestamps again.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(
    clippy::disallowed_methods,
    reason = "the floor is a plain pipe from a plain process"
)]

use std::error::Error;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use benches::statistics::{median, millis, ratio};
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, CancelCause, Cancellation};
use process::Stream;
use steps::{ClientOptions, RunId, RunSpec, Service, ServiceOptions, StepsClient};
use tokio::net::{UnixListener, UnixStream};

const ROUNDS: usize = 7;
const PIECE: usize = 64 * 1024;
/// 85 bytes including the newline.
const LINE: &str =
    "   Compiling some-package v1.2.3 (/builds/group/project/crates/some-package) [2/345]\n";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Connects to the service's socket.
#[derive(Debug)]
struct Socket(PathBuf);

#[async_trait]
impl StepsConnector for Socket {
    async fn connect(
        &self,
        _: &Cancellation,
    ) -> std::result::Result<Box<dyn Connection>, BuildError> {
        let connected = UnixStream::connect(&self.0).await;
        let stream = connected.map_err(|error| BuildError::system("bench", "connect", error))?;
        Ok(Box::new(stream))
    }
}

fn main() -> Result<()> {
    let megabytes: usize = std::env::var("LOG_MB")
        .ok()
        .map_or(Ok(100), |size| size.parse())?;
    let parent = std::env::var_os("LOG_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(parent)?;
    let text = folder.path().join("text");
    let bytes = write_lines(&text, megabytes * 1_000_000 / LINE.len())?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(measure(folder.path(), &text, bytes))
}

async fn measure(folder: &Path, text: &Path, bytes: u64) -> Result<()> {
    let service = Service::start(ServiceOptions::new(folder.join("state")))?;
    let socket = folder.join("socket");
    let listener = UnixListener::bind(&socket)?;
    let stop = Cancellation::new();
    let mut serving = tokio::task::JoinSet::new();
    let (server, stopped) = (service.clone(), stop.clone());
    serving.spawn(async move { server.serve(listener, &stopped).await });
    let client = StepsClient::new(Arc::new(Socket(socket)), ClientOptions::default());

    let (mut floor, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        // Alternating, so that noise of the machine affects both.
        let plain = through_pipe(text, bytes)?;
        let steps = through_steps(&client, round, text, bytes).await?;
        // The first round warms the caches.
        if round > 0 {
            floor.push(plain);
            ours.push(steps);
            ratios.push(ratio(steps, plain));
        }
    }
    println!("{:<24} {:>10}", "", "time");
    println!("{:<24} {:>7.1} ms", "cat to a pipe", millis(median(&floor)));
    println!(
        "{:<24} {:>7.1} ms {:>8.2} x",
        "service and client",
        millis(median(&ours)),
        median(&ratios)
    );
    stop.cancel(CancelCause::Shutdown);
    while let Some(ended) = serving.join_next().await {
        ended??;
    }
    Ok(())
}

fn write_lines(path: &Path, lines: usize) -> Result<u64> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for _ in 0..lines {
        file.write_all(LINE.as_bytes())?;
    }
    file.flush()?;
    Ok((lines * LINE.len()) as u64)
}

fn through_pipe(text: &Path, bytes: u64) -> Result<Duration> {
    let begin = Instant::now();
    let mut cat = Command::new("cat")
        .arg(text)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut output = cat.stdout.take().ok_or("it has an output")?;
    let mut buffer = vec![0; PIECE];
    let mut taken = 0;
    loop {
        match output.read(&mut buffer)? {
            0 => break,
            count => taken += count as u64,
        }
    }
    cat.wait()?;
    assert_eq!(taken, bytes, "all of it comes through");
    Ok(begin.elapsed())
}

async fn through_steps(
    client: &StepsClient,
    round: usize,
    text: &Path,
    bytes: u64,
) -> Result<Duration> {
    let begin = Instant::now();
    let id = RunId::new(format!("round-{round}"));
    let mut run = RunSpec::script(id, format!("exec cat '{}'\n", text.display()));
    run.working_dir = text
        .parent()
        .ok_or("it is in a folder")?
        .display()
        .to_string();
    let mut taken = 0;
    let mut sink = |_: Stream, piece: &[u8]| taken += piece.len() as u64;
    let result = client
        .execute(&run, &mut sink, &Cancellation::new())
        .await?;
    assert!(result.status.is_success(), "{:?}", result.status);
    assert_eq!(taken, bytes, "all of it comes through");
    Ok(begin.elapsed())
}
