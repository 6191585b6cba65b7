//! `runwright simulate`: the policy of an autoscaled fleet on virtual time.

use super::machines_config::Runner;
use super::stdout::{print, print_json};
use crate::args::{SimulateAction, SimulateArgs, SimulateMachinesArgs};
use crate::failure::{Exit, Failure};
use anyhow::{Context, anyhow, ensure};
use executor_core::{HumanDuration, counted};
use executor_machine::simulation::{Cloud, SimulatedJob, Simulation, simulate as replay};
use jiff::Timestamp;
use serde::Serialize;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The longest job of a trace. The simulation decides each minute.
const LONGEST_JOB: Duration = Duration::from_hours(30 * 24);

/// Runs the requested subcommand.
pub(crate) fn simulate(args: &SimulateArgs) -> Result<Exit, Failure> {
    match &args.action {
        SimulateAction::Machines(args) => machines(args),
    }
}

fn machines(args: &SimulateMachinesArgs) -> Result<Exit, Failure> {
    let runner =
        Runner::find(&args.config, args.runner.as_deref(), None).map_err(Failure::usage)?;
    let options = runner.options("").map_err(Failure::usage)?;
    let jobs = jobs(&args.trace).map_err(Failure::usage)?;
    let cloud = Cloud {
        boot: args.boot,
        removal: args.removal,
    };
    let result = replay(&jobs, &options, cloud);
    if let Some(path) = &args.plot {
        let written = fs::write(path, result.plot());
        written
            .with_context(|| format!("write {}", path.display()))
            .map_err(Failure::environment)?;
    }
    let report = Report::of(&jobs, &result);
    if args.json {
        print_json(&report)?;
    } else {
        print(report.text())?;
    }
    Ok(Exit::Success)
}

/// Reads a trace, in the order of the jobs' creation.
fn jobs(path: &Path) -> anyhow::Result<Vec<SimulatedJob>> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("read {shown}"))?;
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let (_, header) = lines.next().ok_or_else(|| anyhow!("{shown} is empty"))?;
    let columns = cells(header);
    let column = |name: &str| {
        let index = columns.iter().position(|it| *it == name);
        index.ok_or_else(|| anyhow!("{shown}:1: the header has no column `{name}`"))
    };
    let (created_at, duration) = (column("created_at")?, column("duration")?);
    let mut jobs = Vec::new();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let line_number = index + 1;
        let cells = cells(line);
        let cell = |column: usize| cells.get(column).copied().unwrap_or_default();
        // A job that never ran has no duration.
        if cell(duration).is_empty() {
            continue;
        }
        let job = job(cell(created_at), cell(duration));
        jobs.push(job.with_context(|| format!("{shown}:{line_number}"))?);
    }
    ensure!(!jobs.is_empty(), "{shown} has no job that ran");
    jobs.sort_by_key(|job: &SimulatedJob| job.created_at);
    Ok(jobs)
}

/// Splits a line at its commas. A cell in quotes may have commas, but no line break.
fn cells(line: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let cells = line.split(|character| {
        is_quoted ^= character == '"';
        character == ',' && !is_quoted
    });
    cells.map(|cell| cell.trim().trim_matches('"')).collect()
}

fn job(created_at: &str, duration: &str) -> anyhow::Result<SimulatedJob> {
    let seconds = |text: &str| {
        let seconds: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    };
    let from_seconds = || Timestamp::from_duration(seconds(created_at)?.try_into().ok()?).ok();
    let time = created_at.parse().ok().or_else(from_seconds);
    let time = time.ok_or_else(|| {
        anyhow!("invalid `created_at` {created_at:?}: expected 2026-11-27T08:00:00Z or seconds")
    });
    let duration = seconds(duration)
        .filter(|it| *it <= LONGEST_JOB)
        .ok_or_else(|| {
            anyhow!("invalid `duration` {duration:?}: expected seconds, at most 30 days")
        })?;
    Ok(SimulatedJob {
        created_at: time?,
        duration,
    })
}

/// The result. Times are in seconds.
#[derive(Serialize)]
struct Report {
    jobs: usize,
    /// Jobs that no machine has ever taken.
    jobs_without_machine: usize,
    wait_median: f64,
    wait_90: f64,
    wait_99: f64,
    wait_longest: f64,
    machines_created: u32,
    machines_at_once: u32,
    machine_seconds: f64,
    job_seconds: f64,
}

impl Report {
    fn of(jobs: &[SimulatedJob], result: &Simulation) -> Self {
        let wait = |part| result.wait_of(part).as_secs_f64();
        Self {
            jobs: jobs.len(),
            jobs_without_machine: jobs.len() - result.waits.len(),
            wait_median: wait(0.5),
            wait_90: wait(0.9),
            wait_99: wait(0.99),
            wait_longest: wait(1.0),
            machines_created: result.created,
            machines_at_once: result.most,
            machine_seconds: result.machine_time.as_secs_f64(),
            job_seconds: result.job_time.as_secs_f64(),
        }
    }

    fn text(&self) -> String {
        let wait = |seconds: f64| HumanDuration(Duration::from_secs_f64(seconds.round()));
        let hours = |seconds: f64| seconds / 3600.0;
        let share = self.job_seconds / self.machine_seconds.max(1.0);
        let mut text = format!(
            "jobs      {}\nwaits     median {}, 90% {}, 99% {}, longest {}\n\
             machines  {} created, at most {} at once\n\
             time      {:.1} machine hours, {:.1} job hours ({share:.2} jobs for each machine)\n",
            self.jobs,
            wait(self.wait_median),
            wait(self.wait_90),
            wait(self.wait_99),
            wait(self.wait_longest),
            self.machines_created,
            self.machines_at_once,
            hours(self.machine_seconds),
            hours(self.job_seconds),
        );
        if self.jobs_without_machine > 0 {
            let lost = counted(self.jobs_without_machine, "job");
            let _ = writeln!(
                text,
                "warning   {lost} never got a machine with these settings"
            );
        }
        text
    }
}
