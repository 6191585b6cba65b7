//! The agent: its size, its start-up time and its memory.
//!
//! `cargo bench -p benches --bench agent`. `$RUNWRIGHT_AGENT` names the program; without it `cargo xtask agent`
//! builds one. `AGENT_STREAM_MIB` sets the amount of streamed data, 1024 by default.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(
    clippy::disallowed_methods,
    reason = "the program is started as containers start it"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use process::Stream;
use steps::agent::{READY, locate_socket};
use steps::{ClientOptions, RunId, RunSpec, StepsClient};
use tokio::net::UnixStream;
use tokio::runtime::Builder;

const STARTS: usize = 50;
const MIB: u64 = 1 << 20;

fn main() -> anyhow::Result<()> {
    let program = program()?;
    let size = fs::metadata(&program)?.len();
    println!("{:<44} {:>9} {:>9}", "the agent", "measured", "goal");
    report("size", mib(size), "MiB", 6.0);

    let place = place()?;
    let (ready, floor) = starts(&program, place.path())?;
    report("from exec to its ready line", millis(ready), "ms", 5.0);
    println!(
        "{:<44} {:>9.3}",
        "  /bin/true, from exec to its end, ms",
        millis(floor)
    );

    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(memory(&program, place.path()))
}

/// Measures the resident memory when idle and under load.
async fn memory(program: &Path, place: &Path) -> anyhow::Result<()> {
    let serving = Serving::start(program, place)?;
    report(
        "resident when it has started",
        mib(serving.resident()?),
        "MiB",
        5.0,
    );
    let connector = Arc::new(Local(locate_socket(place)));
    let client = StepsClient::new(connector, ClientOptions::default());
    run(&client, "first", "true").await?;
    report(
        "resident after one request",
        mib(serving.resident()?),
        "MiB",
        5.0,
    );

    let amount = amount()?;
    let script = format!(
        // The first command ends by a signal, which is not a failure here.
        "{{ yes 'a line of a log as tests write them, with some 64 characters in' || :; }} | head -c {}",
        amount * MIB
    );
    let plain = time(|| plainly(&script))?;
    let begin = Instant::now();
    let bytes = run(&client, "much", &script).await?;
    let streamed = begin.elapsed();
    ensure!(bytes == amount * MIB, "not all of it came");
    let what = format!("most resident while {amount} MiB were streamed");
    report(&what, mib(serving.peak()?), "MiB", 10.0);
    report("resident after that", mib(serving.resident()?), "MiB", 10.0);
    let ratio = streamed.as_secs_f64() / plain.as_secs_f64();
    println!("{:<44} {ratio:>8.2}x", "  its time, against a bare pipe");
    Ok(())
}

/// Runs a script to its end; returns the size of its output.
async fn run(client: &StepsClient, id: &str, script: &str) -> anyhow::Result<u64> {
    let run = RunSpec::script(RunId::new(id), script);
    let mut bytes = 0;
    let mut sink = |_: Stream, piece: &[u8]| bytes += piece.len() as u64;
    let result = client
        .execute(&run, &mut sink, &Cancellation::new())
        .await?;
    ensure!(result.status.is_success(), "{script} failed");
    Ok(bytes)
}

/// Runs a script through a pipe, as the floor.
fn plainly(script: &str) -> anyhow::Result<()> {
    let mut shell = Command::new("bash");
    let mut child = shell.args(["-c", script]).stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().context("a pipe")?;
    let mut buffer = vec![0; 64 << 10];
    while output.read(&mut buffer)? > 0 {}
    ensure!(child.wait()?.success(), "the floor failed");
    Ok(())
}

/// Returns two medians: from exec to the ready line, and the run time of a program that does nothing.
fn starts(program: &Path, place: &Path) -> anyhow::Result<(Duration, Duration)> {
    let (mut ready, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let begin = Instant::now();
        let serving = Serving::start(program, place)?;
        ready.push(begin.elapsed());
        drop(serving);
        floor.push(time(nothing)?);
    }
    Ok((median(ready), median(floor)))
}

/// Runs a program that does nothing.
fn nothing() -> anyhow::Result<()> {
    ensure!(
        Command::new("/bin/true").status()?.success(),
        "the floor failed"
    );
    Ok(())
}

/// A listening agent, killed on drop.
struct Serving(Child);

impl Serving {
    fn start(program: &Path, place: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--directory"]).arg(place);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("start the agent")?;
        let stderr = child.stderr.take().context("a pipe")?;
        let serving = Self(child);
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line)?;
        ensure!(line.starts_with(READY), "the agent says: {line}");
        Ok(serving)
    }

    fn resident(&self) -> anyhow::Result<u64> {
        self.status("VmRSS:")
    }

    fn peak(&self) -> anyhow::Result<u64> {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = value.and_then(|value| value.split_ascii_whitespace().next());
        Ok(kib.context("the kernel says how much")?.parse::<u64>()? * 1024)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Both calls fail if the agent has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Connects to a Unix socket.
#[derive(Debug)]
struct Local(PathBuf);

#[async_trait]
impl StepsConnector for Local {
    async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
        let connected = UnixStream::connect(&self.0).await;
        let stream = connected.map_err(|error| BuildError::system("bench", "connect", error))?;
        Ok(Box::new(stream))
    }
}

/// Returns the agent, and builds it unless the environment names one.
fn program() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os("RUNWRIGHT_AGENT") {
        return Ok(named.into());
    }
    let own = std::env::current_exe()?;
    let folder = own.parent().context("this bench lies in a folder")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["xtask", "agent", "--output"]).arg(folder);
    build.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    ensure!(build.status()?.success(), "the agent cannot be built");
    Ok(folder.join(steps::agent::PROGRAM))
}

fn place() -> anyhow::Result<tempfile::TempDir> {
    let place = std::env::var_os("RUNWRIGHT_BENCH_DIR");
    let place = place.map_or_else(std::env::temp_dir, PathBuf::from);
    Ok(tempfile::tempdir_in(place)?)
}

fn amount() -> anyhow::Result<u64> {
    match std::env::var("AGENT_STREAM_MIB") {
        Ok(amount) => amount.parse().context("AGENT_STREAM_MIB is a number"),
        Err(_) => Ok(1024),
    }
}

fn time(action: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    action().map(|()| begin.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

fn report(what: &str, measured: f64, unit: &str, goal: f64) {
    let verdict = if measured <= goal { "ok" } else { "MISSED" };
    println!(
        "{:<44} {measured:>9.3} {goal:>9} {verdict}",
        format!("{what}, {unit}")
    );
}
