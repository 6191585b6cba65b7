//! `runwright runner` beside a job server of this process, against its goals: `cargo bench -p benches --bench gitlab_runner`,
//! with `-- accepted`, `canceled`, `idle`, `jobs` or `log` for one of them.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(
    clippy::disallowed_methods,
    reason = "the bench starts the runner and reads its processor time"
)]

use anyhow::{Context, ensure};
use benches::statistics::{median, millis, ratio};
use benches::{Bench, Tool, Workload};
use gitlab_testkit::{Endpoint, JobServer, JobServerState};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

const PATIENCE: Duration = Duration::from_mins(2);

/// How long GitLab holds a request without news.
const HOLD: Duration = Duration::from_secs(50);

const IDLE_RUNNERS: usize = 1_000;
const IDLE_TIME: Duration = Duration::from_secs(20);

const SHORT_JOBS: usize = 200;
const SLOTS: usize = 10;

/// The size of the long log, without the times that the runner puts before each line.
const LOG: usize = 64 << 20;

fn main() -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let bench = Bench::start()?;
        let tool = bench.runwright().await?;
        let program = tool_program(&bench);
        let chosen = std::env::args().skip(1).find(|it| !it.starts_with('-'));
        let names = ["accepted", "canceled", "idle", "jobs", "log"];
        let is_known = chosen.as_ref().is_none_or(|it| names.contains(&&**it));
        ensure!(is_known, "expected one of {}", names.join(", "));
        let is_chosen = |name: &str| chosen.as_ref().is_none_or(|it| it == name);
        println!("{:<58} {:>12} {:>12}  goal", "", "measured", "against");
        if is_chosen("accepted") {
            accepted(&bench, &program)?;
        }
        if is_chosen("canceled") {
            canceled(&bench, &program)?;
        }
        if is_chosen("idle") {
            idle(&bench, &program)?;
        }
        if is_chosen("jobs") {
            short_jobs(&bench, &program, &tool).await?;
        }
        if is_chosen("log") {
            log(&bench, &program)?;
        }
        Ok(())
    })
}

fn tool_program(bench: &Bench) -> PathBuf {
    bench.target().join("release").join("runwright")
}

fn row(what: &str, measured: &str, against: &str, goal: &str, is_met: bool) {
    let verdict = if is_met { "met" } else { "NOT MET" };
    println!("{what:<58} {measured:>12} {against:>12}  {goal}: {verdict}");
}

/// A runner with its state, which ends with this.
struct Runner {
    child: Child,
    directory: PathBuf,
}

impl Runner {
    fn start(bench: &Bench, program: &Path, config: &str) -> anyhow::Result<Self> {
        let directory = bench.scratch().join("gitlab-runner");
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("config.toml"), config)?;
        let child = Command::new(program)
            .args(["runner", "run", "--config"])
            .arg(directory.join("config.toml"))
            .current_dir(&directory)
            .env("RUNWRIGHT_HOME", directory.join("home"))
            .env("HOME", &directory)
            .stdin(Stdio::null())
            .stderr(fs::File::create(directory.join("log"))?)
            .spawn()?;
        Ok(Self { child, directory })
    }

    fn pid(&self) -> anyhow::Result<Pid> {
        let raw = i32::try_from(self.child.id())?;
        Pid::from_raw(raw).context("a process number")
    }

    fn end(mut self) -> anyhow::Result<()> {
        kill_process(self.pid()?, Signal::TERM)?;
        let status = self.child.wait()?;
        let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        ensure!(status.success(), "the runner ended with {status}:\n{log}");
        fs::remove_dir_all(&self.directory)?;
        Ok(())
    }
}

fn config(concurrent: usize, runners: impl IntoIterator<Item = String>) -> String {
    let mut text = format!("concurrent = {concurrent}\ncheck_interval = 3\n");
    text.extend(runners);
    text
}

fn runner(server: &JobServer, number: usize, more: &str) -> String {
    format!(
        "[[runners]]\nname = \"r{number}\"\nurl = \"{}\"\ntoken = \"glrt-{number:020}\"\nexecutor = \"shell\"\n{more}",
        server.url()
    )
}

fn job(id: u64, script: &str) -> Value {
    json!({
        "id": id,
        "token": format!("glcbt-64_job{id}"),
        "job_info": {"name": "job", "stage": "test", "project_id": 1, "project_name": "p", "project_full_path": "g/p"},
        "runner_info": {"timeout": 3600},
        "variables": [{"key": "GIT_STRATEGY", "value": "none", "public": true}],
        "steps": [{"name": "script", "script": [script], "timeout": 3600, "when": "on_success"}],
    })
}

fn wait(
    server: &JobServer,
    what: &str,
    is_so: impl Fn(&JobServerState) -> bool,
) -> anyhow::Result<()> {
    ensure!(server.wait_until(PATIENCE, is_so), "no {what}");
    Ok(())
}

/// The time of one request and its answer on a new connection.
fn round_trip(server: &JobServer) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(server.address())?;
    stream.write_all(b"GET /api/v4/none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    stream.read_to_end(&mut Vec::new())?;
    Ok(begun.elapsed())
}

fn accepted(bench: &Bench, program: &Path) -> anyhow::Result<()> {
    let server = JobServer::start();
    server.hold(HOLD);
    let runner = Runner::start(bench, program, &config(1, [runner(&server, 1, "")]))?;
    let mut times = Vec::new();
    let mut trips = Vec::new();
    // The first one learns the server's cursor.
    for id in 1..=32 {
        let polls = server.with_state(|it| it.count(Endpoint::Request));
        let begun = Instant::now();
        server.queue(job(id, "true"));
        wait(&server, "acknowledgment", |it| it.is_acknowledged(id))?;
        if id > 1 {
            times.push(begun.elapsed());
            trips.push(round_trip(&server)?);
        }
        wait(&server, "end", |it| it.final_update(id).is_some())?;
        wait(&server, "next poll", |it| {
            it.count(Endpoint::Request) > polls
        })?;
        // The answer to the poll is not to be read before the server holds the next one.
        sleep(Duration::from_millis(50));
    }
    runner.end()?;
    let (time, trip) = (median(&times), median(&trips));
    row(
        "job queued to job accepted, over a round trip",
        &format!("{:.1} ms", millis(time.saturating_sub(trip))),
        &format!("{:.1} ms", millis(trip)),
        "<= 50 ms",
        time.saturating_sub(trip) <= Duration::from_millis(50),
    );
    Ok(())
}

fn canceled(bench: &Bench, program: &Path) -> anyhow::Result<()> {
    let server = JobServer::start();
    let runner = Runner::start(bench, program, &config(1, [runner(&server, 1, "")]))?;
    let file = runner.directory.join("pid");
    let mut times = Vec::new();
    for id in 1..=11_u64 {
        let script = format!(
            "echo $$ > {0}.new; mv {0}.new {0}; sleep 600",
            file.display()
        );
        server.queue(job(id, &script));
        let until = Instant::now() + PATIENCE;
        let text = loop {
            if let Ok(text) = fs::read_to_string(&file) {
                break text;
            }
            ensure!(Instant::now() < until, "the job does not run");
            sleep(Duration::from_millis(5));
        };
        fs::remove_file(&file)?;
        let pid = Pid::from_raw(text.trim().parse()?).context("a process number")?;
        // Another moment between two looks of the runner each time.
        sleep(Duration::from_millis(2_000 + id * 137));
        let begun = Instant::now();
        server.set_job_status(id, "canceling");
        while test_kill_process(pid).is_ok() {
            ensure!(begun.elapsed() < PATIENCE, "the job runs on");
            sleep(Duration::from_millis(1));
        }
        times.push(begun.elapsed());
        wait(&server, "end", |it| it.final_update(id).is_some())?;
    }
    runner.end()?;
    let longest = times.iter().max().copied().unwrap_or_default();
    row(
        "cancel of a silent job to its processes' death (longest)",
        &format!("{:.0} ms", millis(longest)),
        &format!("{:.0} ms", millis(median(&times))),
        "<= 1 s (second: median)",
        longest <= Duration::from_secs(1),
    );
    Ok(())
}

fn idle(bench: &Bench, program: &Path) -> anyhow::Result<()> {
    let server = JobServer::start();
    server.hold(HOLD);
    let runners = (0..IDLE_RUNNERS).map(|number| runner(&server, number, ""));
    let runner = Runner::start(bench, program, &config(1, runners))?;
    // The second request of each is held, since it has the server's cursor.
    wait(&server, "two polls of each", |it| {
        it.count(Endpoint::Request) >= 2 * IDLE_RUNNERS
    })?;
    sleep(Duration::from_secs(5));
    let process = PathBuf::from(format!("/proc/{}", runner.child.id()));
    let before = ticks(&process)?;
    sleep(IDLE_TIME);
    let used = ticks(&process)? - before;
    let memory = status(&process, "VmRSS:")? / 1024;
    let sockets = fs::read_dir(process.join("fd"))?
        .flatten()
        .filter_map(|it| fs::read_link(it.path()).ok())
        .filter(|it| it.to_string_lossy().starts_with("socket:"))
        .count();
    runner.end()?;
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    let available = ticks_per_second * IDLE_TIME.as_secs();
    let percent = percent(used, available);
    row(
        &format!("{IDLE_RUNNERS} idle runners: resident memory"),
        &format!("{memory} MiB"),
        &format!("{sockets} sockets"),
        "<= 60 MB",
        memory * 1_048_576 <= 60_000_000,
    );
    row(
        &format!("{IDLE_RUNNERS} idle runners: processor"),
        &format!("{percent:.2} %"),
        "of a core",
        "<= 1 %",
        percent <= 1.0,
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a share with two digits")]
fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole as f64
}

/// The processor time of a process, in ticks.
fn ticks(process: &Path) -> anyhow::Result<u64> {
    let text = fs::read_to_string(process.join("stat"))?;
    let (_, fields) = text.rsplit_once(')').context("a name")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |index: usize| {
        fields
            .get(index)
            .context("a field")?
            .parse::<u64>()
            .context("a number")
    };
    Ok(field(11)? + field(12)?)
}

/// A line of the status of a process, in KiB.
fn status(process: &Path, name: &str) -> anyhow::Result<u64> {
    let text = fs::read_to_string(process.join("status"))?;
    let line = text
        .lines()
        .find_map(|it| it.strip_prefix(name))
        .context("a line")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

async fn short_jobs(bench: &Bench, program: &Path, tool: &Tool) -> anyhow::Result<()> {
    let project = bench.project(&Workload::parallel(SHORT_JOBS)).await?;
    let mut ratios = Vec::new();
    let (mut ours, mut direct) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let command = tool.command(bench, &project);
        // The shells of a runner are login shells, as GitLab Runner's.
        let command = command
            .args(["--executor", "shell", "--login", "--concurrency"])
            .arg(SLOTS.to_string());
        let without = bench.run(&command).await?.succeeded()?.wall;
        let server = JobServer::start();
        server.hold(HOLD);
        let more = format!("request_concurrency = {SLOTS}\n");
        let runner = Runner::start(bench, program, &config(SLOTS, [runner(&server, 1, &more)]))?;
        wait(&server, "two polls", |it| it.count(Endpoint::Request) > 1)?;
        let begun = Instant::now();
        for id in 0..SHORT_JOBS {
            server.queue(job(1 + u64::try_from(id)?, "true"));
        }
        wait(&server, "ends", |it| {
            (1..=SHORT_JOBS as u64).all(|id| it.final_update(id).is_some())
        })?;
        let with = begun.elapsed();
        runner.end()?;
        ratios.push(ratio(with, without));
        ours.push(with);
        direct.push(without);
    }
    let times = median(&ratios);
    row(
        &format!("{SHORT_JOBS} jobs, {SLOTS} slots / `runwright run --login`: {times:.2}x"),
        &format!("{:.0} ms", millis(median(&ours))),
        &format!("{:.0} ms", millis(median(&direct))),
        "<= 1.3x",
        times <= 1.3,
    );
    Ok(())
}

fn log(bench: &Bench, program: &Path) -> anyhow::Result<()> {
    let server = JobServer::start();
    server.trace_update_interval(Some(1));
    let more = "output_limit = 1000000\n";
    let runner = Runner::start(bench, program, &config(1, [runner(&server, 1, more)]))?;
    let file = runner.directory.join("text");
    let line = [&[b'x'; 99][..], b"\n"].concat();
    fs::write(&file, line.repeat(LOG / line.len()))?;
    let mut ratios = Vec::new();
    let (mut ours, mut curls) = (Vec::new(), Vec::new());
    for round in 0..5_u64 {
        let id = 1 + 2 * round;
        server.queue(job(id, &format!("cat {}", file.display())));
        wait(&server, "acknowledgment", |it| it.is_acknowledged(id))?;
        let begun = Instant::now();
        wait(&server, "end", |it| it.final_update(id).is_some())?;
        let sent = begun.elapsed();
        let sent_bytes = server.with_state(|it| it.trace(id).len());
        let curl = curl(&server, &runner.directory, id + 1, sent_bytes, &line)?;
        ratios.push(ratio(curl, sent));
        ours.push(sent);
        curls.push(curl);
    }
    runner.end()?;
    let times = median(&ratios);
    row(
        &format!(
            "log of {} MiB, job and all / `curl -T`: {times:.2}x",
            LOG >> 20
        ),
        &format!("{:.0} ms", millis(median(&ours))),
        &format!("{:.0} ms", millis(median(&curls))),
        ">= 0.5x",
        times >= 0.5,
    );
    Ok(())
}

/// Sends as many bytes as one piece of the log of a job that is queued for no runner.
fn curl(
    server: &JobServer,
    directory: &Path,
    id: u64,
    bytes: usize,
    line: &[u8],
) -> anyhow::Result<Duration> {
    server.queue_for("none", job(id, "true"));
    // Taken by hand, so that its log may be sent.
    let taken = Command::new("curl")
        .args([
            "-sS",
            "-f",
            "-o",
            "/dev/null",
            "-H",
            "Content-Type: application/json",
            "-d",
        ])
        .args([
            "{\"token\": \"none\"}",
            &format!("{}/api/v4/jobs/request", server.url()),
        ])
        .stdin(Stdio::null())
        .status()?;
    ensure!(taken.success(), "curl ended with {taken}");
    let file = directory.join("piece");
    let mut text = line.repeat(bytes / line.len() + 1);
    text.truncate(bytes);
    fs::write(&file, text)?;
    let mut address = OsString::from(server.url());
    address.push(format!("/api/v4/jobs/{id}/trace"));
    let begun = Instant::now();
    let status = Command::new("curl")
        .args(["-sS", "-f", "-o", "/dev/null", "-X", "PATCH", "-H"])
        .arg(format!("Content-Range: 0-{}", bytes - 1))
        .args([
            "-H",
            &format!("JOB-TOKEN: glcbt-64_job{id}"),
            "-H",
            "Content-Type: text/plain",
            "-T",
        ])
        .arg(&file)
        .arg(address)
        .stdin(Stdio::null())
        .status()?;
    let took = begun.elapsed();
    ensure!(status.success(), "curl ended with {status}");
    Ok(took)
}
