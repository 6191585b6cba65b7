use clap::{Args, Subcommand};
use executor_core::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `runwright simulate`.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// What to simulate.
    #[command(subcommand)]
    pub(crate) action: SimulateAction,
}

/// What can be simulated.
#[derive(Debug, Subcommand)]
pub(crate) enum SimulateAction {
    /// Replay jobs against the settings of an autoscaled fleet
    Machines(SimulateMachinesArgs),
}

/// Arguments of `runwright simulate machines`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runwright simulate machines --trace jobs.csv --config config.toml
  runwright simulate machines --trace j.csv --config c.toml --plot fleet.svg

The trace is a CSV file with a header. It has the columns `created_at`, as 2026-11-27T08:00:00Z or in seconds, \
and `duration` in seconds. Other columns are ignored.

The settings are those of GitLab Runner: [runners.machine] with `limit` of its [[runners]], or [runners.autoscaler] \
with its [[policy]]. The simulation asks the policy that a runner with these settings would ask.

Exit codes: 0 success; 2 usage, or a file that cannot be read")]
pub(crate) struct SimulateMachinesArgs {
    /// The jobs, as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: PathBuf,
    /// The settings of a runner
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The name of the [[runners]] to simulate; needed when several have machines
    #[arg(long, value_name = "NAME")]
    pub(crate) runner: Option<String>,
    /// How long a machine takes until it can have jobs, as 90 or "1m 30s"
    #[arg(long, value_name = "TIME", default_value = "60", value_parser = time)]
    pub(crate) boot: Duration,
    /// How long a machine takes to be removed
    #[arg(long, value_name = "TIME", default_value = "30", value_parser = time)]
    pub(crate) removal: Duration,
    /// Write a plot of the machines and the jobs to this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Print the result as JSON, times in seconds
    #[arg(long)]
    pub(crate) json: bool,
}

fn time(text: &str) -> Result<Duration, &'static str> {
    if matches!(text, "0" | "0s") {
        return Ok(Duration::ZERO);
    }
    parse_duration(text)
        .filter(|it| *it <= Duration::from_hours(24))
        .ok_or("expected a time, as 90 or \"1m 30s\", of at most a day")
}
